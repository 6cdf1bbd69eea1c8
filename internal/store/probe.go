package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/store/postgres"
	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
)

// Probe runs a user's query in a database, postgres://… or sqlite:FILE. It reports whether
// the first column of the first row is neither null, 0 nor false. It changes nothing there.
// Errors do not contain the address.
func Probe(ctx context.Context, at, query string) (bool, error) {
	scheme, rest, _ := strings.Cut(at, ":")
	switch scheme {
	case "postgres", "postgresql":
		return postgres.Probe(ctx, at, query)
	case "sqlite":
		return sqlite.Probe(ctx, strings.TrimPrefix(rest, "//"), query)
	default:
		return false, fmt.Errorf("%.20q is not a kind of database; supported are postgres://USER:PASSWORD@HOST/DATABASE and sqlite:FILE", scheme)
	}
}
