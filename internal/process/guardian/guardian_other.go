//go:build !linux

package guardian

import (
	"errors"
	"log/slog"
	"time"

	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// Run needs Linux.
func Run() bool { return false }

// Start needs Linux.
func Start(*slog.Logger) (stop func(), err error) { return nil, errors.ErrUnsupported }

// Jobs says which of a process's jobs a [Watch] is for.
type Jobs struct{ Mark, Cells string }

// Watch needs Linux.
type Watch struct{}

// StartWatch needs Linux.
func StartWatch(*slog.Logger, Jobs) (*Watch, error) { return nil, errors.ErrUnsupported }

// Beat needs Linux.
func (*Watch) Beat(time.Time) error { return errors.ErrUnsupported }

// Stop needs Linux.
func (*Watch) Stop() {}

// Sweep needs Linux: elsewhere nothing is found, and nothing is proven.
func Sweep(proc.Owner) (int, error) { return 0, nil }
