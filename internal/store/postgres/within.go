package postgres

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// In reports whether tx, a pgx.Tx, is in the database of this store: it sees a lock that
// the store holds. So it works with other names of the server and behind poolers, and
// recognizes a copy of the database as different.
func (db *DB) In(ctx context.Context, tx any) (in bool, err error) {
	theirs, ok := tx.(pgx.Tx)
	if !ok {
		return false, nil
	}
	var key [8]byte
	_, _ = rand.Read(key[:])
	high, low := int32(binary.BigEndian.Uint32(key[:4])), int32(binary.BigEndian.Uint32(key[4:])) //nolint:gosec // any bits will do
	err = pgx.BeginFunc(ctx, db.pool, func(ours pgx.Tx) error {
		if _, err := ours.Exec(ctx, `SELECT pg_advisory_xact_lock($1::int, $2::int)`, high, low); err != nil {
			return err
		}
		return theirs.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND classid::bigint::bit(32)::int = $1 AND objid::bigint::bit(32)::int = $2 AND objsubid = 2)`, high, low).Scan(&in)
	})
	if err != nil {
		return false, fmt.Errorf("check whether a transaction is in the database of the store: %w", explain(db.where, err))
	}
	return in, nil
}
