package judge

import (
	"context"
	"errors"
	"time"
)

// ErrConflict is what [Marks.PutMark] returns when the mark has another version.
var ErrConflict = errors.New("the mark has changed")

// Marks keeps small documents that processes share.
type Marks interface {
	// Marks lists what begins with prefix.
	Marks(ctx context.Context, prefix string) ([]Mark, error)
	// PutMark stores m if the mark still has m.Version (0: is not there), and
	// returns it with its new version. Else it returns the mark that is there, if
	// any, and ErrConflict.
	PutMark(ctx context.Context, m Mark) (Mark, error)
	// DeleteMark removes a mark that still has this version; 0 means any. One that
	// is not there is no error.
	DeleteMark(ctx context.Context, key string, version int64) error
}

// Mark is one document.
type Mark struct {
	Key     string // at most 255 bytes of printable ASCII
	Version int64
	Doc     []byte        // JSON, below 4 KiB
	TTL     time.Duration // how long it is kept; looked at only when put
}
