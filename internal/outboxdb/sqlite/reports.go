package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/outbox"
)

// Identity implements [outbox.Reports].
func (s *Store) Identity(ctx context.Context) (id outbox.Identity, err error) {
	var made int64
	err = s.reader.QueryRowContext(ctx, s.in(`SELECT id, version, made FROM {schema}_meta`)).Scan(&id.ID, &id.Version, &made)
	id.Made = at(made)
	return id, s.fault(ctx, "read the outbox", err)
}

// Status implements [outbox.Reports].
func (s *Store) Status(ctx context.Context) (st outbox.Status, err error) {
	if st.Identity, err = s.Identity(ctx); err != nil {
		return st, err
	}
	if st.Lease, err = s.lease(ctx, s.reader); err != nil {
		return st, s.fault(ctx, "read the lease of the outbox", err)
	}
	err = s.each(ctx, s.reader, fmt.Sprintf(`SELECT topic, sum(state = 0), sum(state = 1), sum(state = 2), sum(state = 3), min(written_at)
		FROM (SELECT topic, state, written_at FROM {schema}_pending ORDER BY position LIMIT %d) GROUP BY topic ORDER BY topic`, outbox.CountLimit), nil,
		func(scan func(...any) error) error {
			var t outbox.TopicStatus
			var oldest int64
			err := scan(&t.Topic, &t.Ready, &t.Retrying, &t.Parked, &t.Behind, &oldest)
			t.Oldest = at(oldest)
			st.Topics = append(st.Topics, t)
			return err
		})
	if err != nil {
		return st, s.fault(ctx, "count events", err)
	}
	err = s.each(ctx, s.reader, `SELECT id, epoch, topic, json_array_length(positions), since FROM {schema}_flights ORDER BY id`, nil,
		func(scan func(...any) error) error {
			var f outbox.FlightStatus
			var since int64
			err := scan(&f.ID, &f.Epoch, &f.Topic, &f.Events, &since)
			f.Since = at(since)
			st.Flight = append(st.Flight, f)
			return err
		})
	st.Now = time.Now()
	return st, s.fault(ctx, "list flights", err)
}

// Verify implements [outbox.Reports].
func (s *Store) Verify(ctx context.Context, q outbox.VerifyQuery) (p outbox.Proof, err error) {
	const what = "verify the outbox"
	if q.Limit <= 0 {
		q.Limit = 100
	}
	tx, err := s.reader.BeginTx(ctx, nil) // one snapshot
	if err != nil {
		return p, s.fault(ctx, what, err)
	}
	defer tx.Rollback() //nolint:errcheck // it only read
	err = tx.QueryRowContext(ctx, s.in(`SELECT count(*) FROM {schema}_events WHERE ?1 = '' OR topic = ?1`), q.Topic).Scan(&p.Events)
	if err != nil {
		return p, s.fault(ctx, what, err)
	}
	err = tx.QueryRowContext(ctx, s.in(`SELECT count(*) FROM (SELECT DISTINCT topic, key FROM {schema}_events WHERE key <> '' AND (?1 = '' OR topic = ?1))`), q.Topic).Scan(&p.Keys)
	if err != nil {
		return p, s.fault(ctx, what, err)
	}
	// A hole below what is kept is no gap: older events were deleted. The last
	// sequence that was given is with the key.
	err = s.each(ctx, tx, `WITH e AS (
			SELECT topic, key, position, seq, lead(seq) OVER k AS next, lead(position) OVER k AS next_position
			FROM {schema}_events WHERE key <> '' AND (?1 = '' OR topic = ?1) WINDOW k AS (PARTITION BY topic, key ORDER BY seq)
		), f AS (
			SELECT topic, key, 'gap' AS kind, next_position AS position, next AS found, seq + 1 AS expected FROM e WHERE next <> seq + 1
			UNION ALL
			SELECT topic, key, 'inversion', next_position, next, seq + 1 FROM e WHERE next_position < position
			UNION ALL
			SELECT e.topic, e.key, 'gap', e.position, k.seq, e.seq + 1 FROM e JOIN {schema}_keys k USING (topic, key) WHERE e.next IS NULL AND k.seq <> e.seq
			UNION ALL
			SELECT p.topic, '', 'missing', p.position, 0, 0 FROM {schema}_pending p WHERE (?1 = '' OR p.topic = ?1)
				AND NOT EXISTS (SELECT 1 FROM {schema}_events x WHERE x.position = p.position)
		) SELECT topic, key, kind, position, found, expected FROM f ORDER BY position LIMIT ?2`, []any{q.Topic, q.Limit}, func(scan func(...any) error) error {
		var f outbox.Finding
		err := scan(&f.Topic, &f.Key, &f.Kind, &f.Position, &f.Sequence, &f.Expected)
		p.Findings = append(p.Findings, f)
		return err
	})
	return p, s.fault(ctx, what, err)
}
