package postgres

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Probe runs a query in any database, in a read-only transaction. It reports whether the
// first column of the first row is neither null, 0 nor false.
func Probe(ctx context.Context, url, query string) (yes bool, err error) {
	c, err := (Config{URL: url}).pool()
	if err != nil {
		return false, fmt.Errorf("URL: %w", err)
	}
	conn, err := pgx.ConnectConfig(ctx, c.ConnConfig)
	if err != nil {
		return false, explain(where(c.ConnConfig), err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was written
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, query, pgx.QueryExecModeSimpleProtocol) // results in text format
		if err != nil {
			return err
		}
		defer rows.Close()
		if rows.Next() && len(rows.RawValues()) > 0 {
			yes = truth(rows.RawValues()[0], rows.FieldDescriptions()[0].DataTypeOID)
		}
		rows.Close()
		return rows.Err()
	})
	if err != nil {
		return false, explain(where(c.ConnConfig), err)
	}
	return yes, nil
}

// truth reports whether a value in text format is neither null, 0 nor false.
func truth(text []byte, of uint32) bool {
	switch of {
	case pgtype.BoolOID:
		return string(text) == "t"
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID:
		n, err := strconv.ParseFloat(string(text), 64)
		return text != nil && (err != nil || n != 0)
	default:
		return text != nil
	}
}
