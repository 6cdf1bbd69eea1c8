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

	// Changes returns what has happened to a fleet's verdicts since a revision
	// that an earlier call returned. Since 0, and since a revision that the
	// store does not remember, is everything there is.
	Changes(ctx context.Context, fleet string, since int64) (Changes, error)

	// PutLetter sets l aside. If a letter of the same fleet and [bezoar.Letter.Key]
	// is there, that one keeps its ID, First and Request; its Copies grow by
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

// Changes is what happened to the verdicts of one fleet. In whatever order
// processes write, a revision that was returned holds all that went before it.
type Changes struct {
	Revision int64            // to ask from the next time
	All      bool             // Put is every verdict there is; others are gone
	Put      []bezoar.Verdict // inserted or replaced, in the order of their last change
	Deleted  []string         // ids; of those that were put again none
}

// RememberDeleted is how many revisions back a store knows at least what was
// deleted.
const RememberDeleted = 1000

// LetterQuery narrows [Store.Letters].
type LetterQuery struct {
	Fleet       string             // "" means every fleet
	Fingerprint bezoar.Fingerprint // zero means any
	Key         bezoar.Fingerprint // of [bezoar.Letter.Key]; zero means any
	Limit       int                // 1 to 1,000; 0 means 100
	Offset      int
}

// DefaultMaxLetters bounds the letters a store keeps unless configured.
const DefaultMaxLetters = 10_000
