package sqlguard

import (
	"context"
	"errors"
	"fmt"

	"github.com/bezoar-dev/bezoar/guard"
)

// Config configures the wrappers. Only Guard is required.
type Config struct {
	Guard   *guard.Guard
	Dialect string // postgres, mysql, mariadb …; empty: accept any dialect

	// Class and Caller extract the class of limits and the caller's name from the
	// application's contexts. Without them, the default limits apply and the caller is
	// anonymous.
	Class  func(context.Context) string
	Caller func(context.Context) string

	// OnVerdict is called with each verdict other than accept. The verdict is reused after
	// it returns.
	OnVerdict func(ctx context.Context, query string, v *guard.Verdict)
}

// Validate returns an error that names every invalid field, or nil.
func (c Config) Validate() error {
	if c.Guard == nil {
		return errors.New("Guard is nil; want a guard")
	}
	return nil
}

func (c Config) checked(what string) (*judge, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("guard %s: %w", what, err)
	}
	return &judge{config: c}, nil
}

// ErrRejected matches, with errors.Is, the error of every rejected statement.
var ErrRejected = errors.New("the guard rejects the statement")

// Rejected is the error of a rejected statement. The statement was not sent.
type Rejected struct {
	Query   string
	Verdict guard.Verdict // with the findings, most severe first
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
