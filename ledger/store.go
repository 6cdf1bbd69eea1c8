package ledger

import (
	"context"
	"errors"

	"github.com/bezoar-dev/bezoar"
)

// ErrNotFound is returned by a [Store] and the ledger's lookups when nothing
// has the given id.
var ErrNotFound = errors.New("not found")

// Store keeps verdicts and dead letters beyond the life of the process. What a
// method has returned nil for survives kill -9. Every method is safe for
// concurrent use and honours ctx. The suite in ledger/ledgertest says exactly
// what an implementation owes.
type Store interface {
	// PutVerdict inserts v or replaces the verdict with v.ID.
	PutVerdict(ctx context.Context, v bezoar.Verdict) error
	// DeleteVerdict removes one verdict, or returns ErrNotFound.
	DeleteVerdict(ctx context.Context, id string) error
	// Verdicts returns all of a fleet's verdicts, oldest Since first; fleet ""
	// means every fleet.
	Verdicts(ctx context.Context, fleet string) ([]bezoar.Verdict, error)

	// PutLetter sets l aside. If a letter of the same fleet and fingerprint is
	// there, that one keeps its ID, First and Request; its Copies grow by
	// l.Copies, and Last, Verdict, Class, Reason and Evidence are l's. The
	// stored letter is returned. Beyond the store's bound on letters the
	// letter with the oldest Last makes room.
	PutLetter(ctx context.Context, l bezoar.Letter) (bezoar.Letter, error)
	// Letters lists letters without bodies, newest Last first.
	Letters(ctx context.Context, q LetterQuery) ([]bezoar.Letter, error)
	// Letter returns one letter whole, or ErrNotFound.
	Letter(ctx context.Context, id string) (bezoar.Letter, error)
	// DeleteLetter removes one letter, or returns ErrNotFound.
	DeleteLetter(ctx context.Context, id string) error
}

// LetterQuery narrows [Store.Letters].
type LetterQuery struct {
	Fleet       string             // "" means every fleet
	Fingerprint bezoar.Fingerprint // zero means any
	Limit       int                // 1 to 1,000; 0 means 100
	Offset      int
}

// DefaultMaxLetters bounds the letters a store keeps unless configured.
const DefaultMaxLetters = 10_000
