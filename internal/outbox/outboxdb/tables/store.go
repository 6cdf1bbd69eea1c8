package tables

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/bezoar-dev/bezoar/outbox"
)

// DefaultSchema is the default prefix of the table names; in PostgreSQL, their schema.
const DefaultSchema = "bezoar_outbox"

// Version is the version of the tables that this program reads and writes.
const Version = 1

// Dialect describes the differences between databases.
type Dialect struct {
	Now       string             // SQL expression: the database's clock, in milliseconds since 1970
	Lane      string             // SQL expression: the lane of a row c of the keys table
	Share     string             // suffix of a SELECT that locks its rows against changes until the transaction ends
	Exclusive string             // suffix of a SELECT that also locks its rows against Share and Exclusive
	Isolation sql.IsolationLevel // of write transactions
	Snapshot  sql.IsolationLevel // of transactions that read a consistent snapshot
	Until     string             // SQL expression: the end of the lease, as a time that Go can hold; "": until
	Key       string             // name of the columns with keys; "": k
	Positions string             // SQL expression: the positions of a flight as JSON; "": positions
	Numbered  bool               // placeholders are $1, $2 …
	Alone     []string           // statements that exclude changes by relays until the transaction ends; nil: the lease is read with Exclusive
	// Explain adds advice to an error. It returns [outbox.ErrAbsent] if a table is missing.
	Explain func(err error) error
	// Fault, unless nil, adds the attempted operation to an error, in place of Explain.
	Fault func(ctx context.Context, what string, err error) error
	// Again reports whether a failed transaction may be repeated. nil: never.
	Again func(err error) bool
}

// Config configures a Store. The Store closes the databases.
type Config struct {
	Writer, Reader *sql.DB // may be the same database
	Schema         string
	Where          string // database's name for errors; without the password
	Dialect        Dialect
	Moved          func() error // returns an error if the opened file is no longer the database; nil: never
}

// Store is an outbox.
type Store struct {
	writer, reader *sql.DB
	schema, where  string
	dialect        Dialect
	moved          func() error
	fill           *strings.Replacer
}

var _ outbox.Store = (*Store)(nil)

// New opens the outbox. It returns [outbox.ErrAbsent] if there is none. On failure it
// closes the databases.
func New(ctx context.Context, c Config) (*Store, error) {
	s := Over(c, c.Schema+"_")
	id, err := s.Identity(ctx)
	if err == nil && id.Version != Version {
		err = fmt.Errorf("%s: its tables %s_… have version %d, and this program works with %d; run `bezoar outbox init` of the later version",
			s.where, s.schema, id.Version, Version)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the outbox: %w", err), s.Close())
	}
	return s, nil
}

// Over returns the outbox whose tables' names begin with prefix, and does not check whether it is
// there.
func Over(c Config, prefix string) *Store {
	d := c.Dialect
	return &Store{
		writer: c.Writer, reader: c.Reader, schema: c.Schema, where: c.Where, dialect: d, moved: c.Moved,
		fill: strings.NewReplacer("{schema}_", prefix, "{now}", d.Now, "{lane}", d.Lane,
			"{until}", cmp.Or(d.Until, "until"), "{key}", cmp.Or(d.Key, "k"), "{positions}", cmp.Or(d.Positions, "positions")),
	}
}

// Moved returns an error if the opened file is no longer the database. The caller must then
// open the database again.
func (s *Store) Moved() error {
	if s.moved == nil {
		return nil
	}
	return s.moved()
}

// Close waits for running statements and closes the databases.
func (s *Store) Close() error {
	if s.reader == s.writer {
		return s.writer.Close()
	}
	return errors.Join(s.reader.Close(), s.writer.Close())
}

// in replaces the words in braces in a statement.
func (s *Store) in(statement string) string {
	statement = s.fill.Replace(statement)
	for n := 1; s.dialect.Numbered && strings.Contains(statement, "?"); n++ {
		statement = strings.Replace(statement, "?", fmt.Sprintf("$%d", n), 1)
	}
	return statement
}

// fault adds the attempted operation and the database to an error.
func (s *Store) fault(ctx context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, outbox.ErrFenced), errors.Is(err, outbox.ErrNotFound), errors.Is(err, outbox.ErrNotParked), errors.Is(err, outbox.ErrGone):
		return err
	case s.dialect.Fault != nil:
		return s.dialect.Fault(ctx, what, err)
	case ctx.Err() != nil:
		return fmt.Errorf("%s in %s: %w", what, s.where, context.Cause(ctx))
	}
	return fmt.Errorf("%s in %s: %w", what, s.where, s.dialect.Explain(err))
}

// Fill returns the text with {schema} replaced, for tables whose names begin with schema.
func Fill(text, schema string) (string, error) {
	schema = cmp.Or(schema, DefaultSchema)
	if err := ValidSchema(schema); err != nil {
		return "", err
	}
	return strings.ReplaceAll(text, "{schema}", schema), nil
}

// ValidSchema returns an error if table names cannot begin with name.
func ValidSchema(name string) error {
	if !regexp.MustCompile(`^[a-z_][a-z0-9_]{0,50}$`).MatchString(name) {
		return fmt.Errorf("%.80q must be 1 to 51 characters of a-z, 0-9 and _, and must not begin with a digit", name)
	}
	return nil
}
