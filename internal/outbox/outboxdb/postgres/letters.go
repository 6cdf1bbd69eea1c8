package postgres

import (
	"context"
	"database/sql"
)

// Skip implements [outbox.Letters].
func (s *Store) Skip(ctx context.Context, positions []int64) (n int, err error) {
	err = s.Alone(ctx, "skip events", func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, s.in(`SELECT {schema}.discard(ARRAY (
			SELECT position FROM {schema}.pending WHERE position = ANY ($1::bigint[]) AND state IN (1, 2)))`), positions).Scan(&n)
	})
	return n, err
}
