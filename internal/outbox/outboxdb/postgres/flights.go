package postgres

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/tables"
	"github.com/bezoar-dev/bezoar/outbox"
)

// Acquire implements [outbox.Leases].
func (s *Store) Acquire(ctx context.Context, owner string, ttl time.Duration) (outbox.Lease, error) {
	var epoch *int64
	err := s.pool.QueryRow(ctx, s.in(`SELECT {schema}.acquire($1, $2::bigint * interval '1 microsecond')`), owner, ttl.Microseconds()).Scan(&epoch)
	if err != nil {
		return outbox.Lease{}, s.fault(ctx, "acquire the lease of the outbox", err)
	}
	l, err := s.Lease(ctx)
	switch {
	case err != nil:
		return l, err
	case epoch == nil || *epoch != l.Epoch:
		return l, outbox.ErrHeld
	}
	return l, nil
}

// Renew implements [outbox.Leases].
func (s *Store) Renew(ctx context.Context, epoch int64, ttl time.Duration) (outbox.Lease, error) {
	_, err := s.pool.Exec(ctx, s.in(`SELECT {schema}.renew($1, $2::bigint * interval '1 microsecond')`), epoch, ttl.Microseconds())
	if err != nil {
		return outbox.Lease{}, s.fault(ctx, "renew the lease of the outbox", err)
	}
	return s.Lease(ctx)
}

// Release implements [outbox.Leases].
func (s *Store) Release(ctx context.Context, epoch int64) error {
	_, err := s.pool.Exec(ctx, s.in(`UPDATE {schema}.lease SET until = '-infinity' WHERE epoch = $1`), epoch)
	return s.fault(ctx, "release the lease of the outbox", err)
}

// Ready implements [outbox.Flights].
func (s *Store) Ready(ctx context.Context, epoch int64) ([]string, error) {
	rows, err := s.pool.Query(ctx, s.in(`SELECT ready FROM {schema}.ready($1)`), epoch)
	if err != nil {
		return nil, s.fault(ctx, "look for events", err)
	}
	topics, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return topics, s.fault(ctx, "look for events", err)
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Advance implements [outbox.Flights].
func (s *Store) Advance(ctx context.Context, epoch int64, done *outbox.Settlement, next *outbox.Claim) (*outbox.Flight, error) {
	f, err := s.advance(ctx, s.pool, epoch, done, next)
	return f, s.fault(ctx, "settle and claim events", err)
}

func (s *Store) advance(ctx context.Context, db querier, epoch int64, done *outbox.Settlement, next *outbox.Claim) (*outbox.Flight, error) {
	for {
		f, more, err := s.advanceOnce(ctx, db, epoch, done, next)
		if err != nil || f != nil || !more {
			return f, err
		}
		done = nil // the flight is already settled
	}
}

func (s *Store) advanceOnce(ctx context.Context, db querier, epoch int64, done *outbox.Settlement, next *outbox.Claim) (*outbox.Flight, bool, error) {
	var flight, events, bytes *int64
	var delivered []int64
	var failed, topic *string
	if done != nil {
		flight, delivered = &done.Flight, done.Delivered
		var err error
		if failed, err = encodeFailed(done.Failed); err != nil {
			return nil, false, err
		}
	}
	if next != nil {
		n := int64(next.Events)
		topic, events, bytes = &next.Topic, &n, &next.Bytes
	}
	rows, err := db.Query(ctx, s.in(`SELECT flight, positions, written, attempts, blamed, more
		FROM {schema}.advance($1::bigint, $2::bigint, $3::bigint[], $4::text::jsonb, $5::text, $6::int, $7::bigint)`),
		epoch, flight, delivered, failed, topic, events, bytes)
	if err != nil {
		return nil, false, err
	}
	var f *outbox.Flight
	var id *int64
	var positions []int64
	var written []time.Time
	var attempts, blamed []int16
	var more bool
	_, err = pgx.ForEachRow(rows, []any{&id, &positions, &written, &attempts, &blamed, &more}, func() error {
		if id == nil {
			return nil
		}
		f = &outbox.Flight{ID: *id, Epoch: epoch, Topic: *topic, Refs: make([]outbox.Ref, len(positions))}
		for i := range positions {
			f.Refs[i] = outbox.Ref{Position: positions[i], Written: written[i], Attempts: int(attempts[i]), Blamed: int(blamed[i])}
		}
		return nil
	})
	return f, more, err
}

func encodeFailed(failed []outbox.Setback) (*string, error) {
	if len(failed) == 0 {
		return nil, nil
	}
	type row struct {
		Position int64           `json:"position"`
		Attempts int             `json:"attempts"`
		Blamed   int             `json:"blamed"`
		Parked   bool            `json:"parked"`
		Wait     int64           `json:"wait"`
		Evidence outbox.Evidence `json:"evidence"`
	}
	rows := make([]row, len(failed))
	for i, f := range failed {
		rows[i] = row{f.Position, f.Attempts, f.Blamed, f.Parked, f.Wait.Microseconds(), f.Evidence}
		rows[i].Evidence.Reason = tables.Plain(f.Evidence.Reason)
	}
	text, err := json.Marshal(rows)
	s := string(text)
	return &s, err
}

// Read implements [outbox.Flights].
func (s *Store) Read(ctx context.Context, refs []outbox.Ref) ([]outbox.Record, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	positions, first, last := make([]int64, len(refs)), refs[0].Written, refs[0].Written
	attempts := make(map[int64]int, len(refs))
	for i, r := range refs {
		positions[i], attempts[r.Position] = r.Position, r.Attempts
		if r.Written.Before(first) {
			first = r.Written
		}
		if r.Written.After(last) {
			last = r.Written
		}
	}
	// The times select the partitions. Reading a range is faster than reading single
	// events.
	which, from, to := "e.position = ANY ($1::bigint[])", any(positions), slices.Max(positions)
	if low := slices.Min(positions); to-low < 2*int64(len(refs)) {
		which, from = "e.position BETWEEN $1::bigint AND $4::bigint", low
	} else {
		which += " AND $4::bigint > 0"
	}
	rows, err := s.pool.Query(ctx, s.in(`SELECT e.position, e.written_at, e.id, e.topic, e.key, e.seq, e.type, nullif(e.headers, '{}')::text, e.payload
		FROM {schema}.events e
		WHERE `+which+` AND e.written_at BETWEEN $2::timestamptz AND $3::timestamptz ORDER BY e.position`), from, first, last, to)
	if err != nil {
		return nil, s.fault(ctx, "read events", err)
	}
	all := make([]outbox.Record, 0, len(refs))
	for rows.Next() {
		var r outbox.Record
		var headers *string
		if err := rows.Scan(&r.Position, &r.Written, &r.ID, &r.Topic, &r.Key, &r.Sequence, &r.Type, &headers, &r.Payload); err != nil {
			rows.Close()
			return nil, s.fault(ctx, "read events", err)
		}
		if headers != nil {
			r.SetHeaders([]byte(*headers))
		}
		var wanted bool
		if r.Attempts, wanted = attempts[r.Position]; wanted {
			all = append(all, r)
		}
	}
	return all, s.fault(ctx, "read events", rows.Err())
}
