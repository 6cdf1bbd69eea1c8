package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bezoar-dev/bezoar/internal/store/pgerror"
	"github.com/bezoar-dev/bezoar/queue"
)

// explain adds the database's name, and advice if there is any.
func explain(where string, err error) error {
	explained := pgerror.Explain(where, err, pgerror.Advice{Forbidden: "grant the role CREATE on the database, or create the schema for it"})
	if Away(err) {
		return away{explained}
	}
	return explained
}

// away is an error that is [queue.ErrNoAnswer].
type away struct{ error }

func (e away) Unwrap() []error { return []error{e.error, queue.ErrNoAnswer} }

// fault is explain with the attempted operation. If ctx ended the operation, it returns the
// error of ctx.
func (db *DB) fault(ctx context.Context, err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), explain(db.where, err))
}

func isUniqueViolation(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refused.Code == "23505"
}

// Away reports whether err, returned by [Open], means that the database is unreachable or
// refuses connections, so that a later attempt may succeed without a change here.
func Away(err error) bool {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch refused.Code {
		case "57P01", "57P02", "57P03", "53300": // shutting down, crashed, starting, or out of connections
			return true
		}
		return strings.HasPrefix(refused.Code, "08") // a pooler lost the server
	}
	if errors.Is(err, context.Canceled) {
		return false
	}
	_, unreachable := errors.AsType[*pgconn.ConnectError](err)
	_, broken := errors.AsType[*net.OpError](err)
	return unreachable || broken || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
