package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bezoar-dev/bezoar/internal/store/pgerror"
	"github.com/bezoar-dev/bezoar/outbox"
)

// explain names the database and, where there is one, the way out.
func explain(where string, err error) error {
	return pgerror.Explain(where, err, pgerror.Advice{Forbidden: "use the role that made the outbox"})
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
