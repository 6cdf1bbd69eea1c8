package sqlite

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

const (
	// vacuumKeep is the number of bytes that stay free in the file, for new messages.
	vacuumKeep = 8 << 20
	// vacuumAfter is the delay after a write until the file is checked for more free space.
	vacuumAfter = time.Second
	// vacuumPause is the minimum pause after a step. The pause is vacuumRest times as long
	// as the step, so that a busy store has nine tenths of the time.
	vacuumPause = 20 * time.Millisecond
	vacuumRest  = 10
	// A step that takes longer than vacuumLong is followed by smaller ones.
	vacuumLong = 10 * time.Millisecond
)

// vacuumSteps are the sizes of a step in pages.
var vacuumSteps = [...]string{
	"PRAGMA incremental_vacuum(1)", "PRAGMA incremental_vacuum(4)", "PRAGMA incremental_vacuum(16)",
	"PRAGMA incremental_vacuum(64)", "PRAGMA incremental_vacuum(256)",
}

// vacuum returns free space in the file to the disk, in small steps. Each step is a
// transaction of the writer that begins only when no write waits. There is no goroutine
// while there is nothing to return.
type vacuum struct {
	db    *DB
	size  int  // of the next step; belongs to the turn
	dirty bool // returned space is still in the log; belongs to the turn

	mu      sync.Mutex // guards the fields below
	timer   *time.Timer
	armed   bool // a turn is scheduled or running
	stopped bool // stopped, or the file has a version that cannot shrink
	turns   sync.WaitGroup
}

// newVacuum checks whether the file was created so that it can shrink.
func newVacuum(ctx context.Context, db *DB) (*vacuum, error) {
	const incremental = 2
	var mode int
	err := db.owner.QueryRowContext(ctx, "PRAGMA auto_vacuum").Scan(&mode)
	return &vacuum{db: db, size: 2, stopped: mode != incremental}, err
}

// wake schedules a turn, unless one is scheduled.
func (v *vacuum) wake() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.armed {
		v.arm(vacuumAfter)
	}
}

// arm schedules a turn. The caller holds the lock.
func (v *vacuum) arm(in time.Duration) {
	v.armed = !v.stopped
	if v.armed {
		v.timer = time.AfterFunc(in, v.turn)
	}
}

// stop waits for the running turn.
func (v *vacuum) stop() {
	v.mu.Lock()
	v.stopped = true
	if v.timer != nil {
		v.timer.Stop()
	}
	v.mu.Unlock()
	v.turns.Wait()
}

func (v *vacuum) turn() {
	v.mu.Lock()
	if v.stopped {
		v.mu.Unlock()
		return
	}
	v.turns.Add(1)
	v.mu.Unlock()
	defer v.turns.Done()
	next := v.step()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.armed = false; next > 0 {
		v.arm(next)
	}
}

// step does the next step, and returns the delay until another one; 0: not before the next
// write.
func (v *vacuum) step() (next time.Duration) {
	began := time.Now()
	switch more := v.db.reusable() > vacuumKeep; {
	case more:
		if err := v.db.writer.rest(v.shrink); err != nil {
			v.size = 0
			return vacuumAfter // the disk is full, or another process holds the file
		}
		v.dirty = true
		return max(vacuumPause, vacuumRest*time.Since(began))
	case v.dirty:
		if err := v.db.writer.rest(v.fold); err != nil || v.dirty {
			return vacuumAfter // a reader still uses the state before
		}
	}
	return 0
}

// shrink moves the last pages of the file to free pages before them, and truncates the
// file, in one transaction.
func (v *vacuum) shrink() error {
	_, err := v.db.writer.transact([]*write{{do: func(t tx) error {
		began := time.Now()
		if err := t.each(vacuumSteps[v.size], nil, func(*sql.Rows) error { return nil }); err != nil {
			return err
		}
		switch took := time.Since(began); {
		case took > vacuumLong:
			v.size = max(v.size-1, 0)
		case took < vacuumLong/4:
			v.size = min(v.size+1, len(vacuumSteps)-1)
		}
		return nil
	}}})
	return err
}

// fold merges the log into the file, which is then truncated. It does not wait.
func (v *vacuum) fold() error {
	var busy, inLog, folded int
	err := v.db.writer.conn.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &inLog, &folded)
	v.dirty = err != nil || busy != 0 || folded < inLog
	return err
}
