package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// maxBatch is the maximum number of writes in one transaction.
const maxBatch = 256

// writer runs all writes on one connection, one transaction after another. Writes that
// arrive during a commit share the next transaction. A goroutine exists only while there is
// something to write; close waits for it.
type writer struct {
	path string
	conn *sql.Conn
	// stmts belongs to the goroutine that commits. Queries are constants, so it is small.
	stmts map[string]*sql.Stmt
	// before and after, unless nil, add to every transaction, and learn whether it was
	// committed.
	before func(tx) error
	after  func(kept bool)
	watch  *watch // nil while the store is being opened
	room   *reserve
	rested func() // called when there is nothing to write
	// at is called with the progress of a transaction; nil outside of tests.
	at func(point)

	mu      sync.Mutex // guards the fields below; not held during a commit
	pending []*write   // bounded, because each caller waits for its write
	spare   func()     // runs when no write waits; nil: none
	running bool
	closed  bool
	idle    sync.WaitGroup
}

// write is one caller's part of a transaction.
type write struct {
	do    func(tx) error // may run twice; has no effect outside the transaction
	grows bool           // makes the file grow, and is rejected when the disk is full
	done  chan error
}

func newWriter(path string, conn *sql.Conn, rested func()) *writer {
	return &writer{path: path, conn: conn, rested: rested, stmts: make(map[string]*sql.Stmt)}
}

// run performs one write and returns when it is on disk. If ctx ends first, a write that
// has not begun is dropped; otherwise its outcome is unknown.
func (w *writer) run(ctx context.Context, do func(tx) error) error {
	return w.wait(ctx, &write{do: do, done: make(chan error, 1)})
}

// grow is run for a write whose data may stay for long.
func (w *writer) grow(ctx context.Context, do func(tx) error) error {
	if err := w.room.room(); err != nil {
		return err
	}
	return w.wait(ctx, &write{do: do, grows: true, done: make(chan error, 1)})
}

func (w *writer) wait(ctx context.Context, one *write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return fmt.Errorf("%s is closed", w.path)
	}
	w.pending = append(w.pending, one)
	if !w.running {
		w.running = true
		w.idle.Go(w.drain)
	}
	w.mu.Unlock()
	select {
	case err := <-one.done:
		return err
	case <-ctx.Done():
		w.drop(one)
		return ctx.Err()
	}
}

func (w *writer) drop(one *write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.pending, one); i >= 0 {
		w.pending = slices.Delete(w.pending, i, i+1)
	}
}

func (w *writer) close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	w.mu.Unlock()
	w.idle.Wait()
	var errs []error
	for _, stmt := range w.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, w.conn.Close())...)
}

func (w *writer) drain() {
	for {
		w.mu.Lock()
		n := min(len(w.pending), maxBatch)
		batch := slices.Clone(w.pending[:n])
		w.pending = slices.Delete(w.pending, 0, n)
		var spare func()
		if n == 0 {
			spare, w.spare = w.spare, nil
		}
		w.running = n > 0 || spare != nil
		w.mu.Unlock()
		switch {
		case n > 0:
			w.commit(batch)
		case spare != nil:
			spare()
		default:
			w.rested()
			return
		}
	}
}

// rest lets f use the connection when no write waits, and returns after f. Only one caller
// at a time may do so.
func (w *writer) rest(f func() error) error {
	done := make(chan error, 1)
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return fmt.Errorf("%s is closed", w.path)
	}
	w.spare = func() { done <- f() }
	if !w.running {
		w.running = true
		w.idle.Go(w.drain)
	}
	w.mu.Unlock()
	return <-done
}

// commit writes the batch in one transaction. If one write fails, each gets a transaction
// of its own, so that it does not affect others. If the file fails, nothing is retried:
// each write would wait for the same lock or disk.
func (w *writer) commit(batch []*write) {
	spoiled, err := w.transact(batch)
	full := isFull(err) && w.room != nil && w.room.spend()
	if !full && (!spoiled || len(batch) == 1) {
		for _, one := range batch {
			one.done <- err
		}
		return
	}
	for _, one := range batch {
		if full && one.grows {
			one.done <- err
			continue
		}
		_, err := w.transact([]*write{one})
		one.done <- err
	}
}

// transact reports whether a write or the transaction failed.
func (w *writer) transact(batch []*write) (spoiled bool, err error) {
	t := tx{w}
	if err := w.watch.look(); err != nil {
		return false, err
	}
	if err := t.exec("BEGIN IMMEDIATE"); err != nil {
		return false, err
	}
	for _, one := range batch {
		if err := one.do(t); err != nil {
			return true, errors.Join(err, w.rollback())
		}
	}
	if w.before != nil {
		if err := w.before(t); err != nil {
			return false, errors.Join(err, w.rollback())
		}
	}
	t.reached(beforeCommit)
	if err := t.exec("COMMIT"); err != nil {
		return false, errors.Join(err, w.rollback())
	}
	t.reached(afterCommit)
	if w.after != nil {
		w.after(true)
	}
	return false, w.watch.look() // the written file may no longer have its name
}

// point is a point in a transaction at which tests kill the process.
type point string

const (
	beforeCommit point = "before-commit"
	afterCommit  point = "after-commit" // and no caller has been answered
	inClaim      point = "in-claim"     // between two messages of a receive
	inMove       point = "in-move"      // between two messages of a move step
	beforeCursor point = "before-cursor"
)

func (t tx) reached(p point) {
	if t.w.at != nil {
		t.w.at(p)
	}
}

// rollback ends the transaction, unless SQLite has already done so, as it does on a full
// disk.
func (w *writer) rollback() error {
	if w.after != nil {
		w.after(false)
	}
	_, err := w.conn.ExecContext(context.Background(), "ROLLBACK")
	if err != nil && isNoTransaction(err) {
		return nil
	}
	return err
}

// tx is a write's view of its transaction, which it shares with other callers: none of
// their contexts ends it. Statements are cached by query text, so texts must be constants.
type tx struct{ w *writer }

func (t tx) stmt(query string) (*sql.Stmt, error) {
	if s, ok := t.w.stmts[query]; ok {
		return s, nil
	}
	s, err := t.w.conn.PrepareContext(context.Background(), query)
	if err == nil {
		t.w.stmts[query] = s
	}
	return s, err
}

func (t tx) exec(query string, args ...any) error {
	_, err := t.changed(query, args...)
	return err
}

// changed is exec for callers that need the number of changed rows.
func (t tx) changed(query string, args ...any) (int64, error) {
	s, err := t.stmt(query) //nolint:sqlclosecheck // kept for the next one; writer.close closes it
	if err != nil {
		return 0, err
	}
	result, err := s.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (t tx) row(query string, args []any, dest ...any) error {
	s, err := t.stmt(query) //nolint:sqlclosecheck // kept for the next one; writer.close closes it
	if err != nil {
		return err
	}
	return s.QueryRowContext(context.Background(), args...).Scan(dest...)
}
