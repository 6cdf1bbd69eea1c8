package sqlite

import (
	"context"
	"database/sql"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/store/record"
)

// query builds a statement together with its arguments.
type query struct {
	text strings.Builder
	args []any
}

func (q *query) add(text string, args ...any) {
	q.text.WriteString(text)
	q.text.WriteByte(' ')
	q.args = append(q.args, args...)
}

// reader is a *sql.DB or a *sql.Tx.
type reader interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func (q *query) each(ctx context.Context, db reader, f func(*sql.Rows) error) error {
	rows, err := db.QueryContext(ctx, q.text.String(), q.args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func collect[T any](ctx context.Context, db reader, q *query, read func(record.Scan) (T, error)) (found []T, err error) {
	err = q.each(ctx, db, func(rows *sql.Rows) error {
		one, err := read(rows.Scan)
		found = append(found, one)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}
