package tables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/bezoar-dev/bezoar/outbox"
)

// DefaultSchema begins the names of an outbox's tables unless its settings say
// otherwise.
const DefaultSchema = "bezoar_outbox"

// Version is the version of the tables that this package reads and writes.
const Version = 1

// Dialect is what differs between databases.
type Dialect struct {
	Now       string             // an expression: the database's clock, in milliseconds since 1970
	Lane      string             // an expression: the lane of a row c of the keys
	Share     string             // ends a SELECT: nobody changes the row until the transaction ends
	Exclusive string             // … and nobody else reads it with Share or Exclusive
	Isolation sql.IsolationLevel // of transactions that write
	Snapshot  sql.IsolationLevel // of those that read at one moment
	// Explain adds to an error what to do; it is [outbox.ErrAbsent] where a table
	// is not there.
	Explain func(err error) error
	// Again reports whether a transaction may be tried again. nil: never.
	Again func(err error) bool
}

// Config is what a Store works with. It owns the databases.
type Config struct {
	Writer, Reader *sql.DB // may be the same
	Schema         string
	Where          string // names the database in errors; without a password
	Dialect        Dialect
	Moved          func() error // that what is open is the database no more; nil: never
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

// New looks for the outbox. It is [outbox.ErrAbsent] if there is none. It closes the
// databases when it fails.
func New(ctx context.Context, c Config) (*Store, error) {
	s := &Store{
		writer: c.Writer, reader: c.Reader, schema: c.Schema, where: c.Where, dialect: c.Dialect, moved: c.Moved,
		fill: strings.NewReplacer("{schema}", c.Schema, "{now}", c.Dialect.Now, "{lane}", c.Dialect.Lane),
	}
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

// Moved reports that what is open is the database no more: it has to be opened again.
func (s *Store) Moved() error {
	if s.moved == nil {
		return nil
	}
	return s.moved()
}

// Close waits for the statements under way.
func (s *Store) Close() error {
	if s.reader == s.writer {
		return s.writer.Close()
	}
	return errors.Join(s.reader.Close(), s.writer.Close())
}

// in fills in the {schema} of a statement, and the clock.
func (s *Store) in(statement string) string { return s.fill.Replace(statement) }

// fault says what was attempted on which database.
func (s *Store) fault(ctx context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, outbox.ErrFenced), errors.Is(err, outbox.ErrNotFound), errors.Is(err, outbox.ErrNotParked), errors.Is(err, outbox.ErrGone):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%s in %s: %w", what, s.where, context.Cause(ctx))
	}
	return fmt.Errorf("%s in %s: %w", what, s.where, s.dialect.Explain(err))
}

// Fill is a text that makes an outbox, for the tables whose names begin with schema.
func Fill(text, schema string) (string, error) {
	if schema == "" {
		schema = DefaultSchema
	}
	if err := ValidSchema(schema); err != nil {
		return "", err
	}
	return strings.ReplaceAll(text, "{schema}", schema), nil
}

// ValidSchema reports a name that tables cannot begin with.
func ValidSchema(name string) error {
	if !regexp.MustCompile(`^[a-z_][a-z0-9_]{0,50}$`).MatchString(name) {
		return fmt.Errorf("%.80q is not 1 to 51 of a-z, 0-9 and _, not beginning with a digit", name)
	}
	return nil
}
