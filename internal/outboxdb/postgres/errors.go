package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bezoar-dev/bezoar/outbox"
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
			return say("does not allow this; use the role that made the outbox")
		case "53300":
			return say("has no connection left; raise max_connections, or lower pool_max_conns in the URL")
		case "25006":
			return say("is read-only, perhaps a standby; name the primary, or add target_session_attrs=read-write")
		case "26000", "42P05":
			return say("is behind a pooler that loses prepared statements; leave default_query_exec_mode out of the URL")
		}
		return say("refused")
	}
	if _, unreachable := errors.AsType[*pgconn.ConnectError](err); unreachable {
		return say("cannot be reached; start it, check host and port")
	}
	return fmt.Errorf("%s: %w", where, err)
}

// fault says what was attempted. It knows the errors of the contract, and returns
// the context's own error if that ended the operation.
func (s *Store) fault(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch refused.Code {
		case "BZ001":
			return outbox.ErrFenced
		case "42P01", "3F000", "42883": // no table, schema, function
			return fmt.Errorf("%s: %w in schema %s of %s; make it with `bezoar outbox init`: %s", what, outbox.ErrAbsent, s.schema, s.where, refused.Message)
		}
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fmt.Errorf("%s: %w", what, explain(s.where, err))
}
