package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
)

// Restore says which backup is put in a store's place; its field To is set by Run.
type Restore struct{ sqlite.Restore }

// Restored says what came back.
type Restored = sqlite.Restored

// ErrInUse is wrapped when another process has the store.
var ErrInUse = sqlite.ErrInUse

// Run puts the backup in the place of the store at, which nobody may use.
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
