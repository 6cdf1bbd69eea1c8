package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/internal/store/tables"
)

// shared is the database of the stores in package tables. SQLite's clock counts milliseconds.
type shared struct {
	db      *DB
	dialect *tables.Dialect
}

var _ tables.DB = (*shared)(nil)

func newShared(db *DB) *shared {
	return &shared{db, tables.NewDialect(rowsFrom,
		"{schema}.", "", "{now}", `(CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000)`, "{true}", "1", "{bytes}", "x''", "$", "?",
		"{lock}", "", "{skip}", "", "{share}", "", "{labels}", "", "{u.labels}", "", "{labels fit $3}", "?3 <> ''",
		"{tokens}", `UPDATE flow_numbers SET last = last + ?1 WHERE kind = 'token' RETURNING last`)}
}

// rowsFrom reads rows from one JSON text.
func rowsFrom(first int, columns []tables.Column) string {
	all := make([]string, len(columns))
	for i, c := range columns {
		value := fmt.Sprintf("value ->> %d", i)
		if c.Type == "bytea" {
			value = "unhex(" + value + ")"
		}
		all[i] = value + " AS " + c.Name
	}
	return fmt.Sprintf("(SELECT %s FROM json_each(?%d)) u", strings.Join(all, ", "), first)
}

// arguments converts rows to one JSON text.
func arguments(args []any) ([]any, error) {
	if len(args) == 0 {
		return args, nil
	}
	rows, ok := args[len(args)-1].(tables.Rows)
	if !ok {
		return args, nil
	}
	for _, row := range rows {
		for i, v := range row {
			if b, ok := v.([]byte); ok {
				row[i] = hex.EncodeToString(b)
			}
		}
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // SQLite has to read it
	err := e.Encode(rows)
	return append(args[:len(args)-1:len(args)-1], text.String()), err
}

func (s *shared) Read(ctx context.Context, statement string, args []any, f func(record.Scan) error) error {
	args, err := arguments(args)
	if err != nil {
		return err
	}
	rows, err := s.db.reader.QueryContext(ctx, s.dialect.Fill(statement), args...)
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

func (s *shared) Change(ctx context.Context, f func(tables.Tx) error) error {
	return s.db.writer.run(ctx, func(t tx) error { return f(sharedTx{t, s.dialect}) })
}

func (s *shared) Grow(ctx context.Context, f func(tables.Tx) error) error {
	return s.db.writer.grow(ctx, func(t tx) error { return f(sharedTx{t, s.dialect}) })
}

func (s *shared) Fault(ctx context.Context, err error, format string, args ...any) error {
	return s.db.fault(ctx, err, format, args...)
}

func (s *shared) IsUnique(err error) bool { return isUniqueViolation(err) }

// sharedTx is a transaction for the stores in package tables.
type sharedTx struct {
	tx
	dialect *tables.Dialect
}

func (t sharedTx) Exec(statement string, args ...any) (int64, error) {
	args, err := arguments(args)
	if err != nil {
		return 0, err
	}
	return t.changed(t.dialect.Fill(statement), args...)
}

func (t sharedTx) Run(b tables.Batch) error {
	for _, q := range b {
		args, err := arguments(q.Args)
		if err != nil {
			return err
		}
		statement := t.dialect.Fill(q.Statement)
		if q.Each == nil {
			err = t.exec(statement, args...)
		} else {
			err = t.each(statement, args, func(rows *sql.Rows) error { return q.Each(rows.Scan) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Lock does nothing: there is one writer.
func (t sharedTx) Lock([]string) error { return nil }
