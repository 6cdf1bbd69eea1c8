package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bezoar-dev/bezoar/internal/store/pgerror"
	"github.com/bezoar-dev/bezoar/outbox"
)

// asker runs queries about the database.
type asker interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// explain adds the database's name and, if possible, advice. For a missing privilege, the
// advice is the statement that grants it.
func explain(ctx context.Context, db asker, schema, where string, err error) error {
	a := pgerror.Advice{Forbidden: "use the role that created the outbox"}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == "42501" && db != nil {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		var role, database, owner string
		asked := db.QueryRow(ctx, `SELECT quote_ident(current_user), quote_ident(current_database()),
			coalesce((SELECT quote_ident(pg_get_userbyid(nspowner)) FROM pg_namespace WHERE nspname = $1), '')`, schema).Scan(&role, &database, &owner)
		switch {
		case asked != nil:
		case owner == "":
			a.Forbidden = fmt.Sprintf("the role %s must create the outbox's schema %s: GRANT CREATE ON DATABASE %s TO %s", role, schema, database, role)
		default:
			a.Forbidden = fmt.Sprintf("the role %s must work with the outbox of %s: GRANT %s TO %s, or use the role %[2]s", role, owner, owner, role)
		}
	}
	return pgerror.Explain(where, err, a)
}

// fault adds the attempted operation to an error and maps it to the errors of package
// outbox. If ctx ended the operation, it returns the error of ctx.
func (s *Store) fault(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch refused.Code {
		case "BZ001":
			return outbox.ErrFenced
		case "42P01", "3F000", "42883": // no table, schema, function
			return fmt.Errorf("%s: %w in schema %s of %s; create it with `bezoar outbox init`: %s", what, outbox.ErrAbsent, s.schema, s.where, refused.Message)
		}
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fmt.Errorf("%s: %w", what, explain(context.WithoutCancel(ctx), s.pool, s.schema, s.where, err))
}
