package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/outbox"
)

// Identity implements [outbox.Reports].
func (s *Store) Identity(ctx context.Context) (id outbox.Identity, err error) {
	err = s.pool.QueryRow(ctx, s.in(`SELECT id::text, version, made FROM {schema}.meta`)).Scan(&id.ID, &id.Version, &id.Made)
	return id, s.fault(ctx, "read the outbox", err)
}

// Status implements [outbox.Reports].
func (s *Store) Status(ctx context.Context) (st outbox.Status, err error) {
	if st.Identity, err = s.Identity(ctx); err != nil {
		return st, err
	}
	if st.Lease, err = s.lease(ctx); err != nil {
		return st, err
	}
	if err := s.pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&st.Now); err != nil {
		return st, s.fault(ctx, "read the clock", err)
	}
	if st.Topics, err = s.topics(ctx); err != nil {
		return st, err
	}
	rows, err := s.pool.Query(ctx, s.in(`SELECT id, epoch, topic, cardinality(positions), since FROM {schema}.flights ORDER BY id`))
	if err != nil {
		return st, s.fault(ctx, "list flights", err)
	}
	st.Flight, err = pgx.CollectRows(rows, pgx.RowToStructByPos[outbox.FlightStatus])
	return st, s.fault(ctx, "list flights", err)
}

// Note implements [outbox.Notebook].
func (s *Store) Note(ctx context.Context, epoch int64, st outbox.Stats) error {
	const what = "store the relay's statistics"
	text, err := json.Marshal(st)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	_, err = s.pool.Exec(ctx, s.in(`WITH f AS MATERIALIZED (SELECT {schema}.fence($1))
		INSERT INTO {schema}.notes (at, stats) SELECT clock_timestamp(), $2 FROM f ON CONFLICT (one) DO UPDATE SET at = excluded.at, stats = excluded.stats`),
		epoch, string(text))
	return s.fault(ctx, what, err)
}

// Noted implements [outbox.Notebook].
func (s *Store) Noted(ctx context.Context) (st outbox.Stats, at time.Time, err error) {
	const what = "read the relay's statistics"
	var text string
	err = s.pool.QueryRow(ctx, s.in(`SELECT stats, at FROM {schema}.notes`)).Scan(&text, &at)
	if errors.Is(err, pgx.ErrNoRows) {
		return st, at, nil
	}
	if err != nil {
		return st, at, s.fault(ctx, what, err)
	}
	if err := json.Unmarshal([]byte(text), &st); err != nil {
		return st, at, fmt.Errorf("%s: %w", what, err)
	}
	return st, at, nil
}

// topics counts undelivered events by topic. CountLimit applies to all topics together.
func (s *Store) topics(ctx context.Context) ([]outbox.TopicStatus, error) {
	rows, err := s.pool.Query(ctx, s.in(fmt.Sprintf(`SELECT topic, count(*) FILTER (WHERE state = 0), count(*) FILTER (WHERE state = 1),
			count(*) FILTER (WHERE state = 2), count(*) FILTER (WHERE state = 3), min(written_at)
		FROM (SELECT topic, state, written_at FROM {schema}.pending ORDER BY position LIMIT %d) p GROUP BY topic ORDER BY topic`, outbox.CountLimit)))
	if err != nil {
		return nil, s.fault(ctx, "count events", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[outbox.TopicStatus])
	return all, s.fault(ctx, "count events", err)
}

// Verify implements [outbox.Reports].
func (s *Store) Verify(ctx context.Context, q outbox.VerifyQuery) (p outbox.Proof, err error) {
	const what = "verify the outbox"
	if q.Limit <= 0 {
		q.Limit = 100
	}
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return p, s.fault(ctx, what, err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	err = tx.QueryRow(ctx, s.in(`SELECT count(*), count(DISTINCT (topic, key)) FILTER (WHERE key <> '')
		FROM {schema}.events WHERE $1 = '' OR topic = $1`), q.Topic).Scan(&p.Events, &p.Keys)
	if err != nil {
		return p, s.fault(ctx, what, err)
	}
	// Missing sequence numbers below the oldest kept event are no gap: those events were
	// deleted. The keys table has the last assigned sequence number.
	rows, err := tx.Query(ctx, s.in(`WITH e AS (
			SELECT topic, key, position, seq, lead(seq) OVER k AS next, lead(position) OVER k AS next_position
			FROM {schema}.events WHERE key <> '' AND ($1 = '' OR topic = $1) WINDOW k AS (PARTITION BY topic, key ORDER BY seq)
		), f AS (
			SELECT topic, key, 'gap' AS kind, next_position AS position, next AS found, seq + 1 AS expected FROM e WHERE next <> seq + 1
			UNION ALL
			SELECT topic, key, 'inversion', next_position, next, seq + 1 FROM e WHERE next_position < position
			UNION ALL
			SELECT e.topic, e.key, 'gap', e.position, k.seq + 1, e.seq + 1 FROM e JOIN {schema}.keys k USING (topic, key) WHERE e.next IS NULL AND k.seq <> e.seq
			UNION ALL
			SELECT p.topic, '', 'missing', p.position, 0, 0 FROM {schema}.pending p WHERE ($1 = '' OR p.topic = $1)
				AND NOT EXISTS (SELECT FROM {schema}.events x WHERE x.position = p.position AND x.written_at = p.written_at)
		) SELECT topic, key, kind, position, found, expected FROM f ORDER BY position LIMIT $2`), q.Topic, q.Limit)
	if err != nil {
		return p, s.fault(ctx, what, err)
	}
	p.Findings, err = pgx.CollectRows(rows, pgx.RowToStructByPos[outbox.Finding])
	return p, s.fault(ctx, what, err)
}

// partitionSteps is the number of partitions created in advance.
const partitionSteps = 8

// step returns the time span of a partition.
func step(keep time.Duration) time.Duration { return min(keep/4, 24*time.Hour) }

// Upkeep implements [outbox.Flights].
func (s *Store) Upkeep(ctx context.Context, epoch int64, keep time.Duration) (u outbox.Upkept, err error) {
	const what, batch = "keep the outbox in order", 5000
	const microsecond = `::bigint * interval '1 microsecond'`
	err = s.pool.QueryRow(ctx, s.in(`SELECT deleted, dropped, moved FROM {schema}.upkeep($1::bigint, $2`+microsecond+`, $3`+microsecond+`, $4::int, $5::int)`),
		epoch, keep.Microseconds(), step(keep).Microseconds(), partitionSteps, batch).Scan(&u.Deleted, &u.Partitions, &u.Moved)
	u.Busy, u.Partitions = u.Partitions < 0, max(0, u.Partitions)
	u.More = u.Partitions > 0 || u.Deleted == batch
	return u, s.fault(ctx, what, err)
}
