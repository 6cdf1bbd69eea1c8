package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar/outbox"
)

// now is the database's clock, which is the machine's, in milliseconds.
func now() int64 { return time.Now().UnixMilli() }

func at(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (s *Store) lease(ctx context.Context, q querier) (l outbox.Lease, err error) {
	var until int64
	err = q.QueryRowContext(ctx, s.in(`SELECT owner, epoch, until FROM {schema}_lease`)).Scan(&l.Owner, &l.Epoch, &until)
	l.Until, l.Left = at(until), max(0, time.Until(at(until)))
	return l, err
}

// write runs f in a transaction, in which nobody else writes.
func (s *Store) write(ctx context.Context, what string, f func(tx *sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return s.fault(ctx, what, err)
	}
	if err = f(tx); err == nil {
		err = tx.Commit()
	}
	if err != nil {
		_ = tx.Rollback() // the error is told already
	}
	return s.fault(ctx, what, err)
}

// fenced runs f in a transaction in which epoch is the current one.
func (s *Store) fenced(ctx context.Context, what string, epoch int64, f func(tx *sql.Tx) error) error {
	return s.write(ctx, what, func(tx *sql.Tx) error {
		if err := s.fence(ctx, tx, epoch); err != nil {
			return err
		}
		return f(tx)
	})
}

func (s *Store) fence(ctx context.Context, q querier, epoch int64) error {
	l, err := s.lease(ctx, q)
	if err == nil && l.Epoch != epoch {
		err = outbox.ErrFenced
	}
	return err
}

// Acquire implements [outbox.Leases].
func (s *Store) Acquire(ctx context.Context, owner string, ttl time.Duration) (l outbox.Lease, err error) {
	held := false
	err = s.write(ctx, "acquire the lease of the outbox", func(tx *sql.Tx) error {
		var err error
		if l, err = s.lease(ctx, tx); err != nil {
			return err
		}
		if held = l.Owner != owner && l.Left > 0; held {
			return nil
		}
		l = outbox.Lease{Owner: owner, Epoch: l.Epoch + 1, Until: at(now() + ttl.Milliseconds()), Left: ttl}
		_, err = tx.ExecContext(ctx, s.in(`UPDATE {schema}_lease SET owner = ?, epoch = ?, until = ?`), owner, l.Epoch, l.Until.UnixMilli())
		return err
	})
	if err == nil && held {
		err = outbox.ErrHeld
	}
	return l, err
}

// Renew implements [outbox.Leases].
func (s *Store) Renew(ctx context.Context, epoch int64, ttl time.Duration) (l outbox.Lease, err error) {
	err = s.fenced(ctx, "renew the lease of the outbox", epoch, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, s.in(`UPDATE {schema}_lease SET until = ?`), now()+ttl.Milliseconds()); err != nil {
			return err
		}
		var err error
		l, err = s.lease(ctx, tx)
		return err
	})
	return l, err
}

// Release implements [outbox.Leases].
func (s *Store) Release(ctx context.Context, epoch int64) error {
	_, err := s.db.ExecContext(ctx, s.in(`UPDATE {schema}_lease SET until = 0 WHERE epoch = ?`), epoch)
	return s.fault(ctx, "release the lease of the outbox", err)
}

// Ready implements [outbox.Flights].
func (s *Store) Ready(ctx context.Context, epoch int64) ([]string, error) {
	const what = "look for events"
	if err := s.fence(ctx, s.reader, epoch); err != nil {
		return nil, s.fault(ctx, what, err)
	}
	var due bool
	err := s.reader.QueryRowContext(ctx, s.in(`SELECT EXISTS (SELECT 1 FROM {schema}_pending WHERE state = 1 AND not_before <= ?)`), now()).Scan(&due)
	if err != nil {
		return nil, s.fault(ctx, what, err)
	}
	if due {
		err := s.fenced(ctx, what, epoch, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, s.in(`UPDATE {schema}_pending SET state = 0, not_before = NULL WHERE position IN (
				SELECT position FROM {schema}_pending WHERE state = 1 AND not_before <= ? ORDER BY not_before LIMIT 10000)`), now())
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	// A step for each topic, however many events it has.
	return list[string](ctx, s, what, `WITH RECURSIVE t (topic) AS (
			SELECT (SELECT topic FROM {schema}_pending WHERE state = 0 ORDER BY topic LIMIT 1)
			UNION ALL
			SELECT (SELECT p.topic FROM {schema}_pending p WHERE p.state = 0 AND p.topic > t.topic ORDER BY p.topic LIMIT 1) FROM t WHERE t.topic IS NOT NULL
		) SELECT topic FROM t WHERE topic IS NOT NULL`)
}

// list reads one column.
func list[T any](ctx context.Context, s *Store, what, statement string, args ...any) (all []T, err error) {
	err = s.each(ctx, s.reader, statement, args, func(scan func(...any) error) error {
		var v T
		err := scan(&v)
		all = append(all, v)
		return err
	})
	return all, s.fault(ctx, what, err)
}

// each calls f for each row.
func (s *Store) each(ctx context.Context, q querier, statement string, args []any, f func(scan func(...any) error) error) error {
	rows, err := q.QueryContext(ctx, s.in(statement), args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err says what went wrong
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Lost implements [outbox.Flights].
func (s *Store) Lost(ctx context.Context, epoch int64) (all []outbox.Flight, err error) {
	const what = "look for flights of former relays"
	if err := s.fence(ctx, s.reader, epoch); err != nil {
		return nil, s.fault(ctx, what, err)
	}
	err = s.each(ctx, s.reader, `SELECT f.id, f.epoch, f.topic, p.position, p.written_at, p.attempts, p.blamed FROM {schema}_flights f
		LEFT JOIN {schema}_pending p ON p.position IN (SELECT value FROM json_each(f.positions))
		WHERE f.epoch < ? ORDER BY f.id, p.position`, []any{epoch}, func(scan func(...any) error) error {
		var f outbox.Flight
		var position, written, attempts, blamed sql.NullInt64
		if err := scan(&f.ID, &f.Epoch, &f.Topic, &position, &written, &attempts, &blamed); err != nil {
			return err
		}
		if n := len(all); n == 0 || all[n-1].ID != f.ID {
			all = append(all, f)
		}
		if position.Valid { // otherwise all of it is settled
			last := &all[len(all)-1]
			last.Refs = append(last.Refs, outbox.Ref{Position: position.Int64, Written: at(written.Int64), Attempts: int(attempts.Int64), Blamed: int(blamed.Int64)})
		}
		return nil
	})
	return all, s.fault(ctx, what, err)
}

// Advance implements [outbox.Flights].
func (s *Store) Advance(ctx context.Context, epoch int64, done *outbox.Settlement, next *outbox.Claim) (f *outbox.Flight, err error) {
	err = s.fenced(ctx, "settle and claim events", epoch, func(tx *sql.Tx) error {
		if done != nil {
			if err := s.settle(ctx, tx, done); err != nil {
				return err
			}
		}
		if next == nil {
			return nil
		}
		// One whose answer got lost.
		if _, err := tx.ExecContext(ctx, s.in(`DELETE FROM {schema}_flights WHERE topic = ? AND epoch = ?`), next.Topic, epoch); err != nil {
			return err
		}
		var err error
		f, err = s.claim(ctx, tx, epoch, next)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// claim makes a flight, or nil.
func (s *Store) claim(ctx context.Context, tx *sql.Tx, epoch int64, c *outbox.Claim) (*outbox.Flight, error) {
	const fewest = 200 // that are looked at
	for {
		f := &outbox.Flight{Epoch: epoch, Topic: c.Topic}
		var held []int64
		var bytes int64
		full := false
		err := s.each(ctx, tx, `SELECT position, written_at, bytes, attempts, blamed, lane IS NOT NULL AND EXISTS (
				SELECT 1 FROM {schema}_pending e WHERE e.lane = p.lane AND e.state <> 0 AND e.position < p.position)
			FROM {schema}_pending p WHERE topic = ? AND state = 0 ORDER BY position LIMIT ?`, []any{c.Topic, max(c.Events, fewest)},
			func(scan func(...any) error) error {
				var r outbox.Ref
				var written, size int64
				var behind bool
				if err := scan(&r.Position, &written, &size, &r.Attempts, &r.Blamed, &behind); err != nil {
					return err
				}
				if behind {
					held = append(held, r.Position)
					return nil
				}
				alone := r.Blamed > 0 || r.Attempts > 2
				bytes += size
				if n := len(f.Refs); full || n > 0 && (n >= c.Events || bytes > c.Bytes || alone) {
					full = true
					return nil
				}
				full = alone
				r.Written = at(written)
				f.Refs = append(f.Refs, r)
				return nil
			})
		if err != nil {
			return nil, err
		}
		if len(held) > 0 {
			if _, err := tx.ExecContext(ctx, s.in(`UPDATE {schema}_pending SET state = 3 WHERE position IN (SELECT value FROM json_each(?))`), positions(held)); err != nil {
				return nil, err
			}
		}
		if len(f.Refs) == 0 {
			if len(held) > 0 {
				continue // there may be others
			}
			return nil, nil
		}
		all := make([]int64, len(f.Refs))
		for i, r := range f.Refs {
			all[i] = r.Position
		}
		return f, tx.QueryRowContext(ctx, s.in(`INSERT INTO {schema}_flights (epoch, topic, since, positions) VALUES (?, ?, ?, ?) RETURNING id`),
			epoch, c.Topic, now(), positions(all)).Scan(&f.ID)
	}
}

// positions are a list that json_each reads.
func positions(all []int64) string {
	if len(all) == 0 {
		return "[]"
	}
	text, _ := json.Marshal(all) // of integers
	return string(text)
}

// settle ends a flight.
func (s *Store) settle(ctx context.Context, tx *sql.Tx, done *outbox.Settlement) error {
	if _, err := s.discard(ctx, tx, done.Delivered); err != nil {
		return err
	}
	for _, f := range done.Failed {
		state, notBefore, parked := 0, sql.NullInt64{}, sql.NullInt64{}
		switch {
		case f.Parked:
			state, parked = 2, sql.NullInt64{Int64: now(), Valid: true}
		case f.Wait > 0:
			state, notBefore = 1, sql.NullInt64{Int64: now() + f.Wait.Milliseconds(), Valid: true}
		}
		evidence, err := json.Marshal(f.Evidence)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, s.in(`UPDATE {schema}_pending SET attempts = ?, blamed = ?, state = ?, not_before = ?, parked_at = ?, evidence = ?
			WHERE position = ?`), f.Attempts, f.Blamed, state, notBefore, parked, string(evidence), f.Position); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, s.in(`DELETE FROM {schema}_flights WHERE id = ?`), done.Flight)
	return err
}

// discard deletes rows, and makes ready what is behind the first of their lanes:
// some at a time, since their deletion comes here again.
func (s *Store) discard(ctx context.Context, tx *sql.Tx, gone []int64) (int64, error) {
	if len(gone) == 0 {
		return 0, nil
	}
	list := positions(gone)
	var lanes []int64
	err := s.each(ctx, tx, `SELECT DISTINCT lane FROM {schema}_pending WHERE position IN (SELECT value FROM json_each(?)) AND lane IS NOT NULL
		AND EXISTS (SELECT 1 FROM {schema}_pending WHERE lane IS NOT NULL AND state <> 0)`, []any{list}, func(scan func(...any) error) error {
		var lane int64
		err := scan(&lane)
		lanes = append(lanes, lane)
		return err
	})
	if err != nil {
		return 0, err
	}
	result, err := tx.ExecContext(ctx, s.in(`DELETE FROM {schema}_pending WHERE position IN (SELECT value FROM json_each(?))`), list)
	if err != nil {
		return 0, err
	}
	for _, lane := range lanes {
		var first int
		err := tx.QueryRowContext(ctx, s.in(`SELECT state FROM {schema}_pending WHERE lane = ? AND state <> 0 ORDER BY position LIMIT 1`), lane).Scan(&first)
		if errors.Is(err, sql.ErrNoRows) || err == nil && first != 3 {
			continue
		}
		if err != nil {
			return 0, err
		}
		if _, err := tx.ExecContext(ctx, s.in(`UPDATE {schema}_pending SET state = 0 WHERE position IN (
			SELECT position FROM {schema}_pending WHERE lane = ? AND state = 3 ORDER BY position LIMIT 1000)`), lane); err != nil {
			return 0, err
		}
	}
	return result.RowsAffected()
}

// Read implements [outbox.Flights].
func (s *Store) Read(ctx context.Context, refs []outbox.Ref) ([]outbox.Record, error) {
	all := make([]outbox.Record, 0, len(refs))
	list, attempts := make([]int64, len(refs)), make(map[int64]int, len(refs))
	for i, r := range refs {
		list[i], attempts[r.Position] = r.Position, r.Attempts
	}
	err := s.each(ctx, s.reader, `SELECT `+recordColumns+` FROM {schema}_events e WHERE e.position IN (SELECT value FROM json_each(?)) ORDER BY e.position`,
		[]any{positions(list)}, func(scan func(...any) error) error {
			var r outbox.Record
			err := scanRecord(scan, &r)
			r.Attempts = attempts[r.Position]
			all = append(all, r)
			return err
		})
	return all, s.fault(ctx, "read events", err)
}

const recordColumns = `e.position, e.written_at, e.id, e.topic, e.key, e.seq, e.type, e.headers, e.payload`

func scanRecord(scan func(...any) error, r *outbox.Record, more ...any) error {
	var written int64
	var headers string
	err := scan(append([]any{&r.Position, &written, &r.ID, &r.Topic, &r.Key, &r.Sequence, &r.Type, &headers, &r.Payload}, more...)...)
	r.Written = at(written)
	if err != nil || headers == "{}" || headers == "" {
		return err
	}
	return json.Unmarshal([]byte(headers), &r.Headers)
}

// Upkeep implements [outbox.Flights].
func (s *Store) Upkeep(ctx context.Context, epoch int64, keep time.Duration) (u outbox.Upkept, err error) {
	const batch = 5000
	err = s.fenced(ctx, "keep the outbox in order", epoch, func(tx *sql.Tx) error {
		// Positions have the order of time: the oldest are looked at.
		result, err := tx.ExecContext(ctx, s.in(`DELETE FROM {schema}_events WHERE position IN (
			SELECT e.position FROM (SELECT position, written_at FROM {schema}_events ORDER BY position LIMIT ?) e
			WHERE e.written_at < ? AND NOT EXISTS (SELECT 1 FROM {schema}_pending p WHERE p.position = e.position))`),
			batch+s.undelivered(ctx, tx, batch), now()-keep.Milliseconds())
		if err != nil {
			return err
		}
		u.Deleted, err = result.RowsAffected()
		return err
	})
	u.More = u.Deleted >= batch
	return u, err
}

// undelivered counts the events that stay, up to a bound, so that upkeep looks past
// them.
func (s *Store) undelivered(ctx context.Context, q querier, most int64) (n int64) {
	_ = q.QueryRowContext(ctx, s.in(`SELECT count(*) FROM (SELECT 1 FROM {schema}_pending LIMIT ?)`), most).Scan(&n)
	return n
}
