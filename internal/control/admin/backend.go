package admin

import (
	"context"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
)

// A Backend is what the API shows and changes. Its methods are called
// concurrently. An id that nothing has is an error that wraps
// [ledger.ErrNotFound]; an error that is an [*adminapi.Problem] is answered as
// it stands; any other is logged and answered 500 without its text.
type Backend interface {
	Verdicts
	RequestLetters

	// Fleets returns a snapshot and never blocks for long.
	Fleets() []adminapi.Fleet
	Restart(ctx context.Context, fleet string) (adminapi.Restarting, error)
	// Ready returns nil when requests can be served, or why not.
	Ready() error
}

// Verdicts are those on requests.
type Verdicts interface {
	Verdicts(ctx context.Context, fleet string) ([]bezoar.Verdict, error)
	Verdict(ctx context.Context, id string) (bezoar.Verdict, error)
	Quarantine(ctx context.Context, a adminapi.Add) (bezoar.Verdict, error)
	Release(ctx context.Context, id string) error
}

// RequestLetters are the dead letters of requests.
type RequestLetters interface {
	Letters(ctx context.Context, q ledger.LetterQuery) ([]bezoar.Letter, error)
	Letter(ctx context.Context, id string) (bezoar.Letter, error)
	Discard(ctx context.Context, id string) error
	Redrive(ctx context.Context, id string) (adminapi.Redriven, error)
}
