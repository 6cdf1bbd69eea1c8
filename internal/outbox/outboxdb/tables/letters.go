package tables

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/outbox"
)

func states() []outbox.State {
	return []outbox.State{outbox.Ready, outbox.Retrying, outbox.Parked, outbox.Behind}
}

// The query includes events whose rows were deleted, so that an operator can skip them.
const waitingColumns = `p.position, p.written_at, coalesce(e.id, concat('@', p.position)), p.topic,
	CASE WHEN e.position IS NULL THEN coalesce((SELECT c.{key} FROM {schema}_keys c WHERE c.topic = p.topic AND {lane} = p.lane), '') ELSE e.{key} END,
	coalesce(e.seq, 0), coalesce(e.type, ''), coalesce(e.headers, '{}'), e.payload, e.position IS NULL, p.state, p.attempts, p.blamed, p.not_before, p.parked_at, p.evidence,
	CASE WHEN p.state IN (1, 2) THEN (SELECT count(*) FROM {schema}_pending b WHERE b.lane = p.lane AND b.state <> 0 AND b.position > p.position) ELSE 0 END`

const waitingFrom = ` FROM {schema}_pending p LEFT JOIN {schema}_events e ON e.position = p.position AND e.written_at = p.written_at WHERE `

// Waiting implements [outbox.Letters].
func (s *Store) Waiting(ctx context.Context, q outbox.Query) ([]outbox.Waiting, error) {
	if q.Limit <= 0 {
		q.Limit = 100
	}
	where, args, err := conditions(q)
	if err != nil {
		return nil, err
	}
	columns := waitingColumns
	if q.Bare {
		columns = strings.Replace(columns, "coalesce(e.headers, '{}'), e.payload", "'{}', NULL", 1)
	}
	return s.waiting(ctx, `SELECT `+columns+waitingFrom+where+` ORDER BY p.position LIMIT ?`, append(args, q.Limit)...)
}

// Count implements [outbox.Letters].
func (s *Store) Count(ctx context.Context, q outbox.Query) (n int64, err error) {
	where, args, err := conditions(q)
	if err != nil {
		return 0, err
	}
	err = s.reader.QueryRowContext(ctx, s.in(`SELECT count(*)`+waitingFrom+where), args...).Scan(&n)
	return n, s.fault(ctx, "count undelivered events", err)
}

func conditions(q outbox.Query) (where string, args []any, err error) {
	where, args = "p.position > ?", []any{q.After}
	if q.State != "" {
		n := -1
		for i, name := range states() {
			if q.State == name {
				n = i
			}
		}
		if n < 0 {
			return "", nil, fmt.Errorf("%q is not a state of an event", q.State)
		}
		where += fmt.Sprintf(" AND p.state = %d", n)
	}
	if q.Topic != "" {
		where, args = where+" AND p.topic = ?", append(args, q.Topic)
	}
	if q.Key != "" {
		where += " AND (e.{key} = ? OR e.position IS NULL AND p.lane IN (SELECT {lane} FROM {schema}_keys c WHERE c.topic = p.topic AND c.{key} = ?))"
		args = append(args, q.Key, q.Key)
	}
	return where, args, nil
}

func (s *Store) waiting(ctx context.Context, statement string, args ...any) (all []outbox.Waiting, err error) {
	const what = "list undelivered events"
	flights, err := s.flights(ctx, s.reader, "id > 0")
	if err != nil {
		return nil, s.fault(ctx, what, err)
	}
	flying := map[int64]bool{}
	for _, f := range flights {
		for _, p := range f.positions {
			flying[p] = true
		}
	}
	err = s.each(ctx, s.reader, statement, args, func(scan func(...any) error) error {
		var w outbox.Waiting
		var state int
		var gone bool
		var evidence sql.NullString
		if err := scanRecord(scan, &w.Record, &gone, &state, &w.Attempts, &w.Blamed, (*moment)(&w.NotBefore), (*moment)(&w.Parked), &evidence, &w.Behind); err != nil {
			return err
		}
		w.State, w.InFlight = states()[state], flying[w.Position]
		if gone {
			w.Fault = outbox.FaultGone
		}
		if evidence.Valid {
			w.Evidence = outbox.ReadEvidence([]byte(evidence.String))
		}
		all = append(all, w)
		return nil
	})
	return all, s.fault(ctx, what, err)
}

// Find implements [outbox.Letters].
func (s *Store) Find(ctx context.Context, id string) (outbox.Waiting, error) {
	found, err := s.waiting(ctx, `SELECT `+waitingColumns+waitingFrom+`e.id = ? ORDER BY p.position LIMIT 1`, id)
	if position, ok := outbox.GoneAt(id); ok && err == nil && len(found) == 0 {
		found, err = s.waiting(ctx, `SELECT `+waitingColumns+waitingFrom+`p.position = ? AND e.position IS NULL`, position)
	}
	if err != nil {
		return outbox.Waiting{}, err
	}
	if len(found) == 0 {
		return outbox.Waiting{}, outbox.ErrNotFound
	}
	return found[0], nil
}

// Retry implements [outbox.Letters].
func (s *Store) Retry(ctx context.Context, positions []int64) (n int, err error) {
	err = s.Alone(ctx, "retry events", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, s.in(`UPDATE {schema}_pending SET blamed = CASE WHEN state = 2 THEN 1 ELSE blamed END,
			state = 0, not_before = NULL, parked_at = NULL WHERE position IN `+among(positions)+` AND state IN (1, 2)`))
		if err != nil {
			return err
		}
		changed, err := result.RowsAffected()
		n = int(changed)
		return err
	})
	return n, err
}

// Skip implements [outbox.Letters].
func (s *Store) Skip(ctx context.Context, positions []int64) (n int, err error) {
	err = s.Alone(ctx, "skip events", func(tx *sql.Tx) error {
		gone, err := list[int64](ctx, s, tx, `SELECT position FROM {schema}_pending WHERE position IN `+among(positions)+` AND state IN (1, 2)`)
		if err != nil {
			return err
		}
		deleted, err := s.discard(ctx, tx, gone)
		n = int(deleted)
		return err
	})
	return n, err
}

// Alone runs f in a transaction that excludes changes by relays.
func (s *Store) Alone(ctx context.Context, what string, f func(tx *sql.Tx) error) error {
	return s.write(ctx, what, func(tx *sql.Tx) error {
		for _, statement := range s.dialect.Alone {
			if _, err := tx.ExecContext(ctx, s.in(statement)); err != nil {
				return err
			}
		}
		if s.dialect.Alone == nil {
			if _, err := s.lease(ctx, tx, s.dialect.Exclusive); err != nil {
				return err
			}
		}
		return f(tx)
	})
}

// Edit implements [outbox.Letters].
func (s *Store) Edit(ctx context.Context, position int64, e outbox.Edit) error {
	return s.Alone(ctx, "edit an event", func(tx *sql.Tx) error {
		var state int
		err := tx.QueryRowContext(ctx, s.in(`SELECT state FROM {schema}_pending WHERE position = ?`), position).Scan(&state)
		if errors.Is(err, sql.ErrNoRows) {
			return outbox.ErrNotFound
		}
		if err != nil {
			return err
		}
		if states()[state] != outbox.Parked {
			return outbox.ErrNotParked
		}
		var headers *string
		if e.Headers != nil {
			text, err := json.Marshal(e.Headers)
			if err != nil {
				return err
			}
			h := string(text)
			headers = &h
		}
		var payload any
		if e.Payload != nil {
			payload = e.Payload
		}
		const it = ` WHERE position = ? AND written_at = (SELECT p.written_at FROM {schema}_pending p WHERE p.position = ?)`
		err = tx.QueryRowContext(ctx, s.in(`SELECT position FROM {schema}_events`+it), position, position).Scan(&position)
		if errors.Is(err, sql.ErrNoRows) {
			return outbox.ErrGone
		}
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, s.in(`UPDATE {schema}_events SET type = coalesce(?, type), headers = coalesce(?, headers),
			payload = coalesce(?, payload)`+it), e.Type, headers, payload, position, position)
		return err
	})
}

// Plain returns text that all databases accept: valid UTF-8 without zero bytes.
func Plain(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
