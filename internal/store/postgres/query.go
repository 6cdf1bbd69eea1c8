package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// query builds a statement together with its arguments.
type query struct {
	text string
	args []any
}

// add appends text, in which $? stands for arg.
func (q *query) add(text string, arg ...any) {
	q.args = append(q.args, arg...)
	q.text += " " + strings.ReplaceAll(text, "$?", fmt.Sprintf("$%d", len(q.args)))
}

func collect[T any](ctx context.Context, db *DB, q query, read pgx.RowToFunc[T]) ([]T, error) {
	rows, err := db.pool.Query(ctx, q.text, q.args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, read)
}
