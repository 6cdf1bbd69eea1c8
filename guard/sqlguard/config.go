package sqlguard

import (
	"context"
	"errors"
	"fmt"

	"github.com/bezoar-dev/bezoar/guard"
)

// Config says who judges, and for whom. Only Guard is needed.
type Config struct {
	Guard   *guard.Guard
	Dialect string // postgres, mysql, mariadb …; "" reads tolerantly

	// Class and Caller name the caller's class of limits and whom to count, from
	// what the application keeps in its contexts. Without them the default limits
	// hold, and nobody is named.
	Class  func(context.Context) string
	Caller func(context.Context) string

	// OnVerdict sees each verdict that is not accept. The verdict is used again
	// when it returns.
	OnVerdict func(ctx context.Context, query string, v *guard.Verdict)
}

// Validate joins every fault.
func (c Config) Validate() error {
	if c.Guard == nil {
		return errors.New("Guard is nil, want one that judges")
	}
	return nil
}

func (c Config) checked(what string) (*judge, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("guard %s: %w", what, err)
	}
	return &judge{config: c}, nil
}

// ErrRejected is what errors.Is finds in the error of every statement that was
// not sent.
var ErrRejected = errors.New("the guard rejects the statement")

// Rejected is the error of a statement that was not sent.
type Rejected struct {
	Query   string
	Verdict guard.Verdict // with what was found, the gravest first
}

// Is reports whether target is ErrRejected.
func (r *Rejected) Is(target error) bool { return target == ErrRejected }

func (r *Rejected) Error() string {
	if len(r.Verdict.Findings) == 0 {
		return ErrRejected.Error()
	}
	text := ErrRejected.Error() + ": " + r.Verdict.Findings[0].String()
	if n := len(r.Verdict.Findings) - 1 + r.Verdict.More; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}
