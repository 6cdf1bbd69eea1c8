package outbox

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// Tx is an application's transaction in which events can be written. Create it with [Pgx],
// [SQL], [MySQL] or [SQLite].
type Tx struct {
	schema string
	write  func(ctx context.Context, schema string, events []Event) error
}

// In returns a copy of tx for an outbox in the given schema instead of bezoar_outbox.
func (tx Tx) In(schema string) Tx {
	tx.schema = schema
	return tx
}

// Pgx wraps a transaction of pgx.
func Pgx[Tag any](tx interface {
	Exec(ctx context.Context, sql string, args ...any) (Tag, error)
},
) Tx {
	return Tx{write: writePostgres(func(ctx context.Context, statement string, args []any) error {
		_, err := tx.Exec(ctx, statement, args...)
		return err
	})}
}

// SQL wraps a database/sql transaction with a PostgreSQL driver, such as pgx or lib/pq.
func SQL(tx *sql.Tx) Tx {
	return Tx{write: writePostgres(func(ctx context.Context, statement string, args []any) error {
		_, err := tx.ExecContext(ctx, statement, args...)
		return err
	})}
}

// Write writes events in the transaction. They are delivered if and only if the transaction
// commits. Events of one topic and key keep their order.
//
// Write locks the keys of its events until the transaction ends: other transactions that
// write events of these keys wait. It locks them in a fixed order, so callers that write
// all their events in one call do not deadlock. Above the isolation level read committed,
// one of two concurrent transactions that write events of the same key gets a serialization
// failure, as if both had updated the same row.
//
// An error about an invalid event leaves the transaction usable. After any other error the
// transaction has failed and must be rolled back.
func Write(ctx context.Context, tx Tx, events ...Event) error {
	if tx.write == nil {
		return errors.New("write events: no transaction")
	}
	for i, e := range events {
		if err := e.Validate(); err != nil {
			return fmt.Errorf("write events: event %d: %w", i, err)
		}
	}
	tx.schema = cmp.Or(tx.schema, "bezoar_outbox")
	if !schemaName.MatchString(tx.schema) {
		return fmt.Errorf("write events: %.80q is not a valid schema name", tx.schema)
	}
	events = slices.Clone(events)
	sorted.StableFunc(events, func(a, b Event) int {
		if c := strings.Compare(a.Topic, b.Topic); c != 0 {
			return c
		}
		return strings.Compare(a.Key, b.Key)
	})
	for chunk := range slices.Chunk(events, 64) {
		if err := tx.write(ctx, tx.schema, chunk); err != nil {
			return fmt.Errorf("write events: %w", err)
		}
	}
	return nil
}

var (
	schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)
	topicName  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,255}$`)
)

// Validate returns one error that names every invalid field of the event, or nil.
func (e Event) Validate() error {
	var errs faults.List
	errs.If(!topicName.MatchString(e.Topic), "Topic: %.100q must have 1 to %d letters, digits, dots, dashes and underscores", e.Topic, MaxTopic)
	for _, f := range []struct {
		name, text string
		limit      int
	}{{"ID", e.ID, 64}, {"Key", e.Key, MaxKey}, {"Type", e.Type, MaxType}} {
		errs.If(len(f.text) > f.limit, "%s: %d bytes exceed the limit of %d", f.name, len(f.text), f.limit)
		errs.If(!printable(f.text), "%s: must be UTF-8 without zero bytes", f.name)
	}
	errs.If(len(e.Headers) > MaxHeaders, "Headers: %d headers exceed the limit of %d", len(e.Headers), MaxHeaders)
	n := 0
	for name, value := range e.Headers {
		n += len(name) + len(value)
		errs.If(name == "" || !printable(name) || !printable(value), "Headers: %.100q: the name must not be empty; name and value must be UTF-8 without zero bytes", name)
	}
	errs.If(n > MaxHeaderBytes, "Headers: %d bytes exceed the limit of %d", n, MaxHeaderBytes)
	errs.If(len(e.Payload) > MaxPayload, "Payload: %d bytes exceed the limit of %d", len(e.Payload), MaxPayload)
	return errors.Join(errs...)
}

func printable(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// writePostgres calls the outbox's SQL function once per event, many in one statement:
// PostgreSQL evaluates the expressions of a list in order.
func writePostgres(exec func(ctx context.Context, statement string, args []any) error) func(context.Context, string, []Event) error {
	return func(ctx context.Context, schema string, events []Event) error {
		var text strings.Builder
		args := make([]any, 0, 6*len(events))
		text.WriteString("SELECT ")
		for i, e := range events {
			headers := []byte("{}")
			if len(e.Headers) > 0 {
				var err error
				if headers, err = json.Marshal(e.Headers); err != nil {
					return err
				}
			}
			if i > 0 {
				text.WriteString(", ")
			}
			n := len(args)
			fmt.Fprintf(&text, "%s.write($%d::text, $%d::text, $%d::text, $%d::text::jsonb, $%d::bytea, $%d::text)", schema, n+1, n+2, n+3, n+4, n+5, n+6)
			payload := e.Payload
			if payload == nil {
				payload = []byte{}
			}
			args = append(args, e.Topic, e.Key, e.Type, string(headers), payload, e.ID)
		}
		return exec(ctx, text.String(), args)
	}
}
