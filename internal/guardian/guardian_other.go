//go:build !linux

package guardian

import (
	"errors"
	"log/slog"
)

// Run needs Linux.
func Run() bool { return false }

// Start needs Linux.
func Start(*slog.Logger) (stop func(), err error) { return nil, errors.ErrUnsupported }
