package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
)

// Probe runs a query in any SQLite file, without write access. It reports whether the first
// column of the first row is neither null, 0 nor false.
func Probe(ctx context.Context, path, query string) (bool, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return false, err
	}
	if err := prepareDriver(); err != nil {
		return false, err
	}
	db, err := sql.Open("sqlite", fileURI(path, url.Values{"mode": {"ro"}, "_query_only": {"1"}, "_busy_timeout": {"5000"}}))
	if err != nil {
		return false, explain(path, err)
	}
	defer db.Close() //nolint:errcheck // nothing was written
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return false, explain(path, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	if !rows.Next() {
		return false, rows.Err()
	}
	columns, err := rows.Columns()
	if err != nil || len(columns) == 0 {
		return false, errors.Join(err, fmt.Errorf("%s: the query has no columns", path))
	}
	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(any)
	}
	if err := rows.Scan(values...); err != nil {
		return false, explain(path, err)
	}
	switch v := (*values[0].(*any)).(type) {
	case nil:
		return false, nil
	case int64:
		return v != 0, nil
	case float64:
		return v != 0, nil
	case bool:
		return v, nil
	default:
		return true, nil
	}
}
