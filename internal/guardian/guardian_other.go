//go:build !linux

package guardian

import (
	"errors"
	"log/slog"

	"github.com/bezoar-dev/bezoar/internal/proc"
)

// Run needs Linux.
func Run() bool { return false }

// Start needs Linux.
func Start(*slog.Logger) (stop func(), err error) { return nil, errors.ErrUnsupported }

// Sweep needs Linux: elsewhere nothing is found, and nothing is proven.
func Sweep(proc.Owner) (int, error) { return 0, nil }
