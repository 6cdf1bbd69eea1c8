package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/internal/store/tables"
)

// shared is the database of the stores in package tables. SQLite's clock counts milliseconds.
type shared struct {
	db       *DB
	dialects map[int]*tables.Dialect // by the number of rows of a statement
}

var _ tables.DB = (*shared)(nil)

// rowSizes are the numbers of rows of one statement: the fixed cost of a statement is about that
// of three rows, and each size is a statement of its own.
var rowSizes = [...]int{32, 8, 1}

func newShared(db *DB) *shared {
	s := &shared{db, make(map[int]*tables.Dialect)}
	for _, size := range rowSizes {
		rows := func(first int, columns []tables.Column) string { return rowsFrom(size, first, columns) }
		s.dialects[size] = tables.NewDialect(rows,
			"{schema}.", "", "{now}", clock, "{begun}", clock, "{least}", "min", "{greatest}", "max", "{true}", "1", "{json}", "", "{bytes}", "x''", "$", "?",
			"{lock}", "", "{skip}", "", "{share}", "", "{labels}", "", "{u.labels}", "", "{labels fit $3}", "?3 <> ''",
			"{count mark}", `UPDATE queue_numbers SET last = last + 1 WHERE kind = 'mark'`, "{mark}", `(SELECT last FROM queue_numbers WHERE kind = 'mark')`,
			"{tokens}", `UPDATE flow_numbers SET last = last + ?1 WHERE kind = 'token' RETURNING last`)
	}
	return s
}

// clock is the machine's time in microseconds, once for each statement.
const clock = `(CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000)`

// rowsFrom reads size rows from placeholders.
func rowsFrom(size, first int, columns []tables.Column) string {
	names, values := make([]string, len(columns)), make([]string, size)
	for i, c := range columns {
		names[i] = fmt.Sprintf("column%d AS %s", i+1, c.Name)
	}
	for n := range values {
		values[n] = "(?" + strings.Repeat(", ?", len(columns)-1) + ")"
	}
	values[0] = strings.Replace(values[0], "?", fmt.Sprintf("?%d", first), 1) // the others follow; the driver is slower with numbers
	return "(SELECT " + strings.Join(names, ", ") + " FROM (VALUES " + strings.Join(values, ", ") + ")) u"
}

// statements calls do for each part of a statement's rows.
func (s *shared) statements(statement string, args []any, do func(text string, args []any) error) error {
	var rows tables.Rows
	if n := len(args); n > 0 {
		rows, _ = args[n-1].(tables.Rows)
	}
	if rows == nil {
		return do(s.dialects[1].Fill(statement), args)
	}
	for _, size := range rowSizes {
		for ; len(rows) >= size; rows = rows[size:] {
			all := append(make([]any, 0, len(args)+size*len(rows[0])), args[:len(args)-1]...)
			for _, row := range rows[:size] {
				all = append(all, row...)
			}
			if err := do(s.dialects[size].Fill(statement), all); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *shared) Read(ctx context.Context, statement string, args []any, f func(record.Scan) error) error {
	rows, err := s.db.reader.QueryContext(ctx, s.dialects[1].Fill(statement), args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (s *shared) Send(ctx context.Context, b tables.Batch) error {
	return s.Change(ctx, func(t tables.Tx) error { return t.Run(b) })
}

func (s *shared) Change(ctx context.Context, f func(tables.Tx) error) error {
	return s.db.writer.run(ctx, func(t tx) error { return f(sharedTx{t, s}) })
}

func (s *shared) Grow(ctx context.Context, f func(tables.Tx) error) error {
	return s.db.writer.grow(ctx, func(t tx) error { return f(sharedTx{t, s}) })
}

func (s *shared) Fault(ctx context.Context, err error, format string, args ...any) error {
	return s.db.fault(ctx, err, format, args...)
}

func (s *shared) IsUnique(err error) bool { return isUniqueViolation(err) }

// sharedTx is a transaction for the stores in package tables.
type sharedTx struct {
	tx
	of *shared
}

func (t sharedTx) Exec(statement string, args ...any) (n int64, err error) {
	err = t.of.statements(statement, args, func(text string, args []any) error {
		changed, err := t.changed(text, args...)
		n += changed
		return err
	})
	return n, err
}

func (t sharedTx) Run(b tables.Batch) error {
	for _, q := range b {
		if q.Locks { // there is one writer
			continue
		}
		if q.Reset != nil {
			q.Reset()
		}
		err := t.of.statements(q.Statement, q.Args, func(text string, args []any) error {
			if q.Each == nil {
				return t.exec(text, args...)
			}
			return t.each(text, args, func(rows *sql.Rows) error { return q.Each(rows.Scan) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Lock does nothing: there is one writer.
func (t sharedTx) Lock([]string) error { return nil }
