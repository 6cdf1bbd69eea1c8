// Package marks holds the words in which engines share small facts: a breaker's
// state, a pause, who was told. A store keeps them, and changes one only for who
// has seen its newest version.
package marks

import (
	"context"
	"errors"
	"time"
)

// ErrConflict is what [Store.PutMark] returns when the mark has another version.
var ErrConflict = errors.New("the mark has changed")

// Store keeps marks that processes share. Its methods return soon after their
// context ends.
type Store interface {
	// Marks lists what begins with prefix, by key, at most 10,000.
	Marks(ctx context.Context, prefix string) ([]Mark, error)
	// PutMark stores m if the mark still has m.Version (0: is not there, or beyond
	// its time), and returns it with its new version: a higher one than any that
	// this key ever had. Else it returns the mark that is there, if any, and
	// ErrConflict.
	PutMark(ctx context.Context, m Mark) (Mark, error)
	// DeleteMark removes a mark that still has this version; 0 means any. One that
	// is not there is no error.
	DeleteMark(ctx context.Context, key string, version int64) error
}

// Mark is one document.
type Mark struct {
	Key     string // 1 to 255 bytes of printable ASCII
	Version int64
	Doc     []byte        // at most 64 KiB of JSON
	TTL     time.Duration // when put: how long it is kept; when read: how long it still is
	Age     time.Duration // when read: since it was put
}
