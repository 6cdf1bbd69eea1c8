//go:build !linux

package guardian

import (
	"errors"
	"log/slog"
	"time"

	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// Run returns false: guardians need Linux.
func Run() bool { return false }

// Start returns [errors.ErrUnsupported]: guardians need Linux.
func Start(*slog.Logger) (stop func(), err error) { return nil, errors.ErrUnsupported }

// Jobs identifies the jobs that a [Watch] guards.
type Jobs struct{ Mark, Cells string }

// Watch needs Linux.
type Watch struct{}

// StartWatch returns [errors.ErrUnsupported].
func StartWatch(*slog.Logger, Jobs) (*Watch, error) { return nil, errors.ErrUnsupported }

// Beat returns [errors.ErrUnsupported].
func (*Watch) Beat(time.Time) error { return errors.ErrUnsupported }

func (*Watch) Stop() {}

// Sweep finds nothing: it needs Linux.
func Sweep(proc.Owner) (int, error) { return 0, nil }
