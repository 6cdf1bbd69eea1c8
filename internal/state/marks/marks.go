// Package marks defines how engines share small facts, such as the state of a breaker or a pause. A store keeps them, and
// changes a mark only for a process that has seen its newest version.
package marks

import (
	"context"
	"errors"
	"time"
)

// ErrConflict is returned by [Store.PutMark] if the mark has another version.
var ErrConflict = errors.New("the mark has changed")

// Store keeps marks that processes share. Its methods return soon after their context ends.
type Store interface {
	// Marks lists the marks whose keys begin with prefix, by key, at most 10,000.
	Marks(ctx context.Context, prefix string) ([]Mark, error)
	// PutMark stores m if the mark still has m.Version (0: it does not exist, or has expired). It returns m with its new
	// version, which is higher than any that this key ever had. Otherwise it returns the existing mark, if any, and
	// ErrConflict.
	PutMark(ctx context.Context, m Mark) (Mark, error)
	// DeleteMark removes a mark that still has this version; 0 means any. A missing mark is no error.
	DeleteMark(ctx context.Context, key string, version int64) error
}

// Mark is one document.
type Mark struct {
	Key     string // 1 to 255 bytes of printable ASCII
	Version int64
	Doc     []byte        // at most 64 KiB of JSON
	TTL     time.Duration // when put: how long it is kept; when read: the rest of that time
	Age     time.Duration // when read: time since it was put
}
