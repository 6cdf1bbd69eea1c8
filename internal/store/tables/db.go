package tables

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/internal/store/record"
)

// DB is a database.
type DB interface {
	// Read runs one statement and calls f for each row.
	Read(ctx context.Context, statement string, args []any, f func(record.Scan) error) error
	// Send runs the queries in one transaction, and in one round trip if the database is remote.
	Send(ctx context.Context, b Batch) error
	// Change runs f in a transaction. f may run more than once, and has no effect outside
	// the transaction. If ctx ends first, f may still be running when Change returns: read
	// what f writes only if the error is nil. The same holds for Send and Grow.
	Change(ctx context.Context, f func(Tx) error) error
	// Grow is Change for a write whose data may stay for long.
	Grow(ctx context.Context, f func(Tx) error) error
	// Fault adds the attempted operation and advice to an error. nil stays nil.
	Fault(ctx context.Context, err error, format string, args ...any) error
	// IsUnique reports whether a statement failed because a key exists already.
	IsUnique(err error) bool
}

// Tx is a transaction.
type Tx interface {
	// Exec returns the number of changed rows.
	Exec(statement string, args ...any) (int64, error)
	// Run runs the queries in order, and in one round trip if the database is remote.
	Run(b Batch) error
	// Lock locks names until the transaction ends.
	Lock(names []string) error
}

// Batch is a list of queries.
type Batch []Query

// Query is one statement.
type Query struct {
	Statement string
	Args      []any
	Reset     func()                  // is called before the statement runs, which may be more than once; nil: nothing
	Each      func(record.Scan) error // is called for each row; nil: there are none
	Locks     bool                    // it only locks rows, which a database with one writer need not do
}

func (b *Batch) add(statement string, args ...any) {
	*b = append(*b, Query{Statement: statement, Args: args})
}

func (b *Batch) ask(statement string, args []any, f func(record.Scan) error) {
	*b = append(*b, Query{Statement: statement, Args: args, Each: f})
}

// read asks for rows of a batch that is sent by itself. reset forgets those of an earlier run of the transaction.
func (b *Batch) read(statement string, args []any, reset func(), f func(record.Scan) error) {
	*b = append(*b, Query{Statement: statement, Args: args, Reset: reset, Each: f})
}

// addRows adds a statement about rows, if there are any.
func (b *Batch) addRows(statement string, rows Rows, args ...any) {
	if len(rows) > 0 {
		b.add(statement, append(args, rows)...)
	}
}

// Rows is an argument for {rows …}. Values are string, int64, bool or []byte. It has at least
// one row.
type Rows [][]any

func (r *Rows) add(values ...any) { *r = append(*r, values) }

// row runs a query that returns one row, or [sql.ErrNoRows].
func row(t Tx, statement string, args []any, dest ...any) error {
	found := false
	var b Batch
	b.ask(statement, args, func(scan record.Scan) error {
		found = true
		return scan(dest...)
	})
	err := t.Run(b)
	if err == nil && !found {
		err = sql.ErrNoRows
	}
	return err
}

// readRow is row outside of a transaction.
func readRow[T any](ctx context.Context, db DB, statement string, args []any, read func(record.Scan) (T, error)) (one T, err error) {
	found := false
	err = db.Read(ctx, statement, args, func(scan record.Scan) (err error) {
		found = true
		one, err = read(scan)
		return err
	})
	if err == nil && !found {
		err = sql.ErrNoRows
	}
	return one, err
}

func collect[T any](ctx context.Context, db DB, q query, read func(record.Scan) (T, error)) (found []T, err error) {
	err = db.Read(ctx, q.text, q.args, func(scan record.Scan) error {
		one, err := read(scan)
		found = append(found, one)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// query builds a statement together with its arguments.
type query struct {
	text string
	args []any
}

// add appends text, in which $? stands for arg.
func (q *query) add(text string, arg ...any) {
	q.args = append(q.args, arg...)
	q.text += " " + strings.ReplaceAll(text, "$?", "$"+strconv.Itoa(len(q.args)))
}

// plain reports whether every database can contain a text. A search for any other text finds
// nothing.
func plain(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// text returns the part of a display string that every database accepts.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// Column is a column of {rows …}.
type Column struct{ Name, Type string }

// Dialect says how a database writes what differs.
type Dialect struct {
	words *strings.Replacer
	rows  func(first int, columns []Column) string
	texts sync.Map // of statements that were filled in
}

// NewDialect returns a dialect. words are pairs of a word and its replacement. rows returns the
// table u of {rows …}, whose first placeholder has the number first.
func NewDialect(rows func(first int, columns []Column) string, words ...string) *Dialect {
	return &Dialect{words: strings.NewReplacer(words...), rows: rows}
}

var rowsWord = regexp.MustCompile(`\{rows (\d+): ([^}]*)\}`)

// Fill replaces the words of a statement. The number of different statements must be small.
func (d *Dialect) Fill(statement string) string {
	if done, ok := d.texts.Load(statement); ok {
		return done.(string) //nolint:forcetypeassert // nothing else is stored
	}
	done := rowsWord.ReplaceAllStringFunc(statement, func(word string) string {
		parts := rowsWord.FindStringSubmatch(word)
		first, _ := strconv.Atoi(parts[1]) // digits
		var columns []Column
		for column := range strings.SplitSeq(parts[2], ", ") {
			name, kind, _ := strings.Cut(column, " ")
			columns = append(columns, Column{name, kind})
		}
		return d.rows(first, columns)
	})
	done = d.words.Replace(done)
	if strings.ContainsAny(done, "{}") {
		panic(fmt.Sprintf("unknown word in %s", done)) // statements are constants
	}
	d.texts.Store(statement, done)
	return done
}
