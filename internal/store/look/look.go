// Package look asks a database of somebody else whether something is there. It opens
// a connection for each look, reads only, and closes it.
package look

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // the driver
)

// Query runs a query at postgres://… or sqlite:FILE. It reports whether there is a
// row and its first column is neither null, 0 nor false. Nothing can be written.
func Query(ctx context.Context, dsn, query string) (bool, error) {
	scheme, rest, _ := strings.Cut(dsn, ":")
	switch scheme {
	case "postgres", "postgresql":
		return postgres(ctx, dsn, query)
	case "sqlite":
		return sqlite(ctx, rest, query)
	}
	return false, errors.New("the dsn is neither postgres://… nor sqlite:FILE") // it may be a secret: not shown
}

func postgres(ctx context.Context, dsn, query string) (there bool, err error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return false, errors.New("the dsn is no URL of PostgreSQL")
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // all values are texts
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return false, fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		return false, fmt.Errorf("begin: %w", err)
	}
	rows, err := tx.Query(ctx, query)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	if rows.Next() {
		if raw := rows.RawValues(); len(raw) > 0 && raw[0] != nil {
			there = truth(string(raw[0]))
		}
	}
	rows.Close()
	return there, rows.Err()
}

func sqlite(ctx context.Context, path, query string) (bool, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return false, err
	}
	uri := url.URL{Scheme: "file", Path: abs, RawQuery: url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)", "query_only(1)"}}.Encode()}
	db, err := sql.Open("sqlite", uri.String())
	if err != nil {
		return false, fmt.Errorf("open: %w", err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return false, err
	}
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		return false, rows.Err()
	}
	columns, err := rows.Columns()
	if err != nil {
		return false, err
	}
	var first sql.NullString
	into := make([]any, len(columns))
	into[0] = &first
	for i := range into[1:] {
		into[i+1] = new(any)
	}
	if err := rows.Scan(into...); err != nil {
		return false, err
	}
	return first.Valid && truth(first.String), nil
}

// truth reports whether a value is neither 0 nor false.
func truth(text string) bool {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return n != 0
	}
	return text != "f" && !strings.EqualFold(text, "false")
}
