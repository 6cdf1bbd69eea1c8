package tables

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar/outbox"
)

// moment reads a time, which some databases keep in milliseconds since 1970; NULL becomes the zero time.
type moment time.Time

// Scan implements [sql.Scanner].
func (m *moment) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*m = moment{}
	case time.Time:
		*m = moment(v.UTC())
	case int64:
		*m = moment(time.UnixMilli(v).UTC())
	case []byte:
		ms, err := strconv.ParseInt(string(v), 10, 64)
		*m = moment(time.UnixMilli(ms).UTC())
		return err
	default:
		return fmt.Errorf("a time is a %T", src)
	}
	return nil
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Ready implements [outbox.Flights].
func (s *Store) Ready(ctx context.Context, epoch int64) ([]string, error) {
	const what = "look for ready events"
	if err := s.fence(ctx, s.reader, epoch, ""); err != nil {
		return nil, s.fault(ctx, what, err)
	}
	const most = 10_000
	due, err := list[int64](ctx, s, s.reader, `SELECT position FROM {schema}_pending WHERE state = 1 AND not_before <= {now} ORDER BY not_before LIMIT ?`, most)
	if err != nil {
		return nil, s.fault(ctx, what, err)
	}
	if len(due) > 0 {
		// The first event of a key must not become ready between two statements of a claim:
		// the claim would take the second event.
		err := s.write(ctx, what, func(tx *sql.Tx) error {
			if err := s.fence(ctx, tx, epoch, s.dialect.Exclusive); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, s.in(`UPDATE {schema}_pending SET state = 0, not_before = NULL WHERE state = 1 AND position IN `+among(due)))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	// This takes one step per topic, however many events the topic has.
	topics, err := list[string](ctx, s, s.reader, `WITH RECURSIVE t (topic) AS (
			SELECT (SELECT topic FROM {schema}_pending WHERE state = 0 ORDER BY topic LIMIT 1)
			UNION ALL
			SELECT (SELECT p.topic FROM {schema}_pending p WHERE p.state = 0 AND p.topic > t.topic ORDER BY p.topic LIMIT 1) FROM t WHERE t.topic IS NOT NULL
		) SELECT topic FROM t WHERE topic IS NOT NULL`)
	return topics, s.fault(ctx, what, err)
}

// list returns one column of a query's rows.
func list[T any](ctx context.Context, s *Store, q querier, statement string, args ...any) (all []T, err error) {
	err = s.each(ctx, q, statement, args, func(scan func(...any) error) error {
		var v T
		err := scan(&v)
		all = append(all, v)
		return err
	})
	return all, err
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
	const what = "look for flights of earlier relays"
	if err := s.fence(ctx, s.reader, epoch, ""); err != nil {
		return nil, s.fault(ctx, what, err)
	}
	flights, err := s.flights(ctx, s.reader, "epoch < ?", epoch)
	if err != nil {
		return nil, s.fault(ctx, what, err)
	}
	for _, was := range flights {
		f := outbox.Flight{ID: was.ID, Epoch: was.Epoch, Topic: was.Topic}
		err := s.each(ctx, s.reader, `SELECT position, written_at, attempts, blamed FROM {schema}_pending WHERE position IN `+among(was.positions)+` ORDER BY position`, nil,
			func(scan func(...any) error) error {
				var r outbox.Ref
				err := scan(&r.Position, (*moment)(&r.Written), &r.Attempts, &r.Blamed)
				f.Refs = append(f.Refs, r)
				return err
			})
		if err != nil {
			return nil, s.fault(ctx, what, err)
		}
		all = append(all, f)
	}
	return all, nil
}

type flight struct {
	outbox.FlightStatus
	positions []int64
}

func (s *Store) flights(ctx context.Context, q querier, where string, args ...any) (all []flight, err error) {
	err = s.each(ctx, q, `SELECT id, epoch, topic, since, {positions} FROM {schema}_flights WHERE `+where+` ORDER BY id`, args, func(scan func(...any) error) error {
		var f flight
		var text []byte
		if err := scan(&f.ID, &f.Epoch, &f.Topic, (*moment)(&f.Since), &text); err != nil {
			return err
		}
		if err := json.Unmarshal(text, &f.positions); err != nil {
			return fmt.Errorf("flight %d: %w", f.ID, err)
		}
		f.Events = len(f.positions)
		all = append(all, f)
		return nil
	})
	return all, err
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
		// An earlier claim whose answer was lost.
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

// among returns an SQL list for IN, with at least one number.
func among(all []int64) string {
	out := make([]byte, 0, 2+8*len(all))
	out = append(out, '(')
	for i, n := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, n, 10)
	}
	if len(all) == 0 {
		out = append(out, "-1"...) // matches no position
	}
	return string(append(out, ')'))
}

// settle ends a flight.
func (s *Store) settle(ctx context.Context, tx *sql.Tx, done *outbox.Settlement) error {
	if _, err := s.discard(ctx, tx, done.Delivered); err != nil {
		return err
	}
	for _, f := range done.Failed {
		state, wait := 0, int64(0)
		switch {
		case f.Parked:
			state = 2
		case f.Wait > 0:
			state, wait = 1, max(1, f.Wait.Milliseconds())
		}
		f.Evidence.Reason = Plain(f.Evidence.Reason)
		evidence, err := json.Marshal(f.Evidence)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, s.in(`UPDATE {schema}_pending SET attempts = ?, blamed = ?, state = ?, evidence = ?,
				not_before = CASE WHEN ? > 0 THEN {now} + ? END, parked_at = CASE WHEN ? = 2 THEN {now} END
			WHERE position = ?`), min(f.Attempts, math.MaxInt16), min(f.Blamed, math.MaxInt16), state, string(evidence), wait, wait, state, f.Position); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, s.in(`DELETE FROM {schema}_flights WHERE id = ?`), done.Flight)
	return err
}

// discard deletes events and makes the events behind them ready, up to 1,000 per lane: the
// deletion of the last one continues here.
func (s *Store) discard(ctx context.Context, tx *sql.Tx, gone []int64) (int64, error) {
	if len(gone) == 0 {
		return 0, nil
	}
	lanes, err := list[int64](ctx, s, tx, `SELECT DISTINCT lane FROM {schema}_pending WHERE position IN `+among(gone)+` AND lane IS NOT NULL`)
	if err != nil {
		return 0, err
	}
	result, err := tx.ExecContext(ctx, s.in(`DELETE FROM {schema}_pending WHERE position IN `+among(gone)))
	if err != nil {
		return 0, err
	}
	if len(lanes) > 0 { // keep only lanes that block events
		if lanes, err = list[int64](ctx, s, tx, `SELECT DISTINCT lane FROM {schema}_pending WHERE lane IN `+among(lanes)+` AND state = 3`); err != nil {
			return 0, err
		}
	}
	for _, lane := range lanes {
		first, err := list[int64](ctx, s, tx, `SELECT state FROM {schema}_pending WHERE lane = ? AND state <> 0 ORDER BY position LIMIT 1`, lane)
		if err != nil {
			return 0, err
		}
		if len(first) == 0 || first[0] != 3 {
			continue
		}
		some, err := list[int64](ctx, s, tx, `SELECT position FROM {schema}_pending WHERE lane = ? AND state = 3 ORDER BY position LIMIT 1000`, lane)
		if err != nil {
			return 0, err
		}
		if _, err := tx.ExecContext(ctx, s.in(`UPDATE {schema}_pending SET state = 0 WHERE position IN `+among(some))); err != nil {
			return 0, err
		}
	}
	return result.RowsAffected()
}

// Read implements [outbox.Flights].
func (s *Store) Read(ctx context.Context, refs []outbox.Ref) ([]outbox.Record, error) {
	all := make([]outbox.Record, 0, len(refs))
	positions, attempts := make([]int64, len(refs)), make(map[int64]int, len(refs))
	for i, r := range refs {
		positions[i], attempts[r.Position] = r.Position, r.Attempts
	}
	err := s.each(ctx, s.reader, `SELECT `+recordColumns+` FROM {schema}_events e WHERE e.position IN `+among(positions)+` ORDER BY e.position`, nil, func(scan func(...any) error) error {
		var r outbox.Record
		err := scanRecord(scan, &r)
		r.Attempts = attempts[r.Position]
		all = append(all, r)
		return err
	})
	return all, s.fault(ctx, "read events", err)
}

const recordColumns = `e.position, e.written_at, e.id, e.topic, e.{key}, e.seq, e.type, e.headers, e.payload`

func scanRecord(scan func(...any) error, r *outbox.Record, more ...any) error {
	var headers []byte
	err := scan(append([]any{&r.Position, (*moment)(&r.Written), &r.ID, &r.Topic, &r.Key, &r.Sequence, &r.Type, &headers, &r.Payload}, more...)...)
	if err == nil && len(headers) > len("{}") {
		r.SetHeaders(headers)
	}
	return err
}

// Upkeep implements [outbox.Flights].
func (s *Store) Upkeep(ctx context.Context, epoch int64, keep time.Duration) (u outbox.Upkept, err error) {
	const what, batch = "keep the outbox in order", 5000
	old, err := list[int64](ctx, s, s.reader, `SELECT e.position FROM {schema}_events e LEFT JOIN {schema}_pending p ON p.position = e.position
		WHERE p.position IS NULL AND e.written_at < {now} - ? ORDER BY e.position LIMIT ?`, keep.Milliseconds(), batch)
	if err != nil {
		return u, s.fault(ctx, what, err)
	}
	err = s.fenced(ctx, what, epoch, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, s.in(`DELETE FROM {schema}_events WHERE position IN `+among(old)))
		if err != nil {
			return err
		}
		u.Deleted, err = result.RowsAffected()
		return err
	})
	u.More = len(old) == batch
	return u, err
}
