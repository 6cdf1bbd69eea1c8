package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// explain names the database and, where there is one, the way out.
func explain(where string, err error) error {
	if err == nil {
		return nil
	}
	say := func(what string) error { return fmt.Errorf("%s %s: %w", where, what, err) }
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch refused.Code {
		case "28P01", "28000":
			return say("does not let this user in; check user, password and pg_hba.conf")
		case "3D000":
			return say("does not exist; create the database")
		case "42501":
			return say("does not allow this; grant the role CREATE on the database, or create the schema for it")
		case "53300":
			return say("has no connection left; raise max_connections, or lower pool_max_conns in the URL")
		case "53100":
			return say("has a full disk; free space there. What was acknowledged is safe")
		case "25006":
			return say("is read-only, perhaps a standby; name the primary, or add target_session_attrs=read-write")
		case "26000", "42P05":
			return say("is behind a pooler that loses prepared statements; leave default_query_exec_mode out of the URL")
		}
		return say("refused")
	}
	if _, unreachable := errors.AsType[*pgconn.ConnectError](err); unreachable {
		return say("cannot be reached; start it, check host and port, or use store: sqlite:bezoar.db")
	}
	return fmt.Errorf("%s: %w", where, err)
}

// fault is explain for an operation under way: what was attempted, and the
// context's own error when that is what ended it.
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

// Away reports whether err, of [Open], says that the database cannot be reached
// or takes nobody just now: later it may be otherwise, with nothing changed here.
func Away(err error) bool {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch refused.Code {
		case "57P01", "57P02", "57P03", "53300": // it stops, crashed, starts; no connection left
			return true
		}
		return strings.HasPrefix(refused.Code, "08") // a pooler in front has lost it
	}
	if errors.Is(err, context.Canceled) {
		return false
	}
	_, unreachable := errors.AsType[*pgconn.ConnectError](err)
	_, broken := errors.AsType[*net.OpError](err)
	return unreachable || broken || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
