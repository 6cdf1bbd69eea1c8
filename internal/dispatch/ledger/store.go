package ledger

import (
	"context"
	"errors"

	"github.com/bezoar-dev/bezoar"
)

// ErrNotFound is returned by a [Store] and the ledger's lookups if nothing has the given id.
var ErrNotFound = errors.New("not found")

// Store keeps verdicts and dead letters across processes. What a method has stored survives kill -9 once the method has
// returned nil. Every method is safe for concurrent use and honours ctx. The suite in ledger/ledgertest is the complete
// contract.
type Store interface {
	// PutVerdict inserts v or replaces the verdict with v.ID.
	PutVerdict(ctx context.Context, v bezoar.Verdict) error
	// DeleteVerdict removes one verdict, or returns ErrNotFound.
	DeleteVerdict(ctx context.Context, id string) error
	// Verdicts returns all verdicts of a fleet, oldest Since first; fleet "" means every fleet.
	Verdicts(ctx context.Context, fleet string) ([]bezoar.Verdict, error)

	// Changes returns the changes of a fleet's verdicts since a revision that an earlier call returned. Since 0, and since
	// a revision that the store does not remember, it returns everything.
	Changes(ctx context.Context, fleet string, since int64) (Changes, error)

	// PutLetter stores l. If there is a letter of the same fleet and [bezoar.Letter.Key], that one keeps its ID, First and
	// Request; its Copies grow by l.Copies, and Last, Verdict, Class, Reason and Evidence become l's. PutLetter returns the
	// stored letter. If there are too many letters, the letter with the oldest Last is dropped.
	PutLetter(ctx context.Context, l bezoar.Letter) (bezoar.Letter, error)
	// Letters lists letters without bodies, newest Last first.
	Letters(ctx context.Context, q LetterQuery) ([]bezoar.Letter, error)
	// Letter returns one complete letter, or ErrNotFound.
	Letter(ctx context.Context, id string) (bezoar.Letter, error)
	// DeleteLetter removes one letter, or returns ErrNotFound.
	DeleteLetter(ctx context.Context, id string) error
}

// Changes are the changes of one fleet's verdicts. In any order of concurrent writes, a returned revision includes
// everything before it.
type Changes struct {
	Revision int64            // for the next call
	All      bool             // Put has all verdicts; others are gone
	Put      []bezoar.Verdict // inserted or replaced, in the order of their last change
	Deleted  []string         // ids; without those that were put again
}

// RememberDeleted is for how many revisions a store remembers deletions, at least.
const RememberDeleted = 1000

// LetterQuery narrows [Store.Letters].
type LetterQuery struct {
	Fleet       string             // "" means every fleet
	Fingerprint bezoar.Fingerprint // zero means any
	Key         bezoar.Fingerprint // of [bezoar.Letter.Key]; zero means any
	Limit       int                // 1 to 1,000; 0 means 100
	Offset      int
}

// DefaultMaxLetters is the default bound on the letters of a store.
const DefaultMaxLetters = 10_000
