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
