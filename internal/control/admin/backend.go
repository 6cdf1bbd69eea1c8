package admin

import (
	"context"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
)

// Backend provides the state that the API shows and changes. Its methods are called
// concurrently. For an unknown ID they return an error that wraps [ledger.ErrNotFound]. An
// [*adminapi.Problem] is sent to the client unchanged. Any other error is logged and
// answered with 500, without its text.
type Backend interface {
	Verdicts
	RequestLetters

	// Fleets returns a snapshot. It does not block for long.
	Fleets() []adminapi.Fleet
	Restart(ctx context.Context, fleet string) (adminapi.Restarting, error)
	// Ready returns nil if requests can be served, otherwise the reason.
	Ready() error
}

// Verdicts manages the verdicts on requests.
type Verdicts interface {
	Verdicts(ctx context.Context, fleet string) ([]bezoar.Verdict, error)
	Verdict(ctx context.Context, id string) (bezoar.Verdict, error)
	Quarantine(ctx context.Context, a adminapi.Add) (bezoar.Verdict, error)
	Release(ctx context.Context, id string) error
}

// RequestLetters manages the dead letters of requests.
type RequestLetters interface {
	Letters(ctx context.Context, q ledger.LetterQuery) ([]bezoar.Letter, error)
	Letter(ctx context.Context, id string) (bezoar.Letter, error)
	Discard(ctx context.Context, id string) error
	Redrive(ctx context.Context, id string) (adminapi.Redriven, error)
}
