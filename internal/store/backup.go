package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
)

// Backup configures a backup. Run sets its field From.
type Backup struct{ sqlite.Backup }

// Progress is the progress of a backup.
type Progress = sqlite.Progress

// noFile is errors.ErrUnsupported for a store that is not a file.
type noFile string

func (s noFile) Error() string { return string(s) }

func (s noFile) Is(target error) bool { return target == errors.ErrUnsupported }

// Run copies the store at, which may be in use, and returns the copy's size in bytes.
func (b Backup) Run(ctx context.Context, at string) (int64, error) {
	if err := Check(at, Config{}); err != nil {
		return 0, err
	}
	scheme, rest, _ := strings.Cut(at, ":")
	switch scheme {
	case "sqlite":
	case "memory":
		return 0, noFile("the store is memory, which nothing outlives: there is nothing to back up")
	default:
		return 0, noFile("the store is PostgreSQL: back it up with pg_dump (one consistent copy, beside all that runs), and bring it back with pg_restore")
	}
	b.From = strings.TrimPrefix(rest, "//")
	size, err := b.Backup.Run(ctx)
	if err != nil {
		return 0, fmt.Errorf("back up the store: %w", err)
	}
	return size, nil
}
