package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
)

// Restore configures the restoration of a backup. Run sets its field To.
type Restore struct{ sqlite.Restore }

// Restored describes the restored content.
type Restored = sqlite.Restored

// ErrInUse is wrapped by errors about a store that another process uses.
var ErrInUse = sqlite.ErrInUse

// Run replaces the store at by the backup. No process may use the store.
func (r Restore) Run(ctx context.Context, at string) (Restored, error) {
	if err := Check(at, Config{}); err != nil {
		return Restored{}, err
	}
	scheme, rest, _ := strings.Cut(at, ":")
	switch scheme {
	case "sqlite":
	case "memory":
		return Restored{}, noFile("the store is memory: nothing can be restored to it")
	default:
		return Restored{}, noFile("the store is PostgreSQL: stop every Bezoar, bring the dump back with pg_restore --clean --if-exists --schema=bezoar --dbname=URL FILE, and start them")
	}
	r.To = strings.TrimPrefix(rest, "//")
	done, err := r.Restore.Run(ctx)
	if err != nil {
		return done, fmt.Errorf("restore the store: %w", err)
	}
	return done, nil
}
