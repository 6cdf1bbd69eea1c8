package sqlite

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
)

// Config names the file and the bounds. Only Path is required.
type Config struct {
	Path       string
	MaxLetters int           // dead letters kept; 0 means ledger.DefaultMaxLetters
	Readers    int           // connections that read; 0 means 4, at most 64
	Reserve    int64         // bytes kept free for receives and deletions on a full disk; 0 means none
	LockWait   time.Duration // how long a predecessor may take to let go of the file; 0 means 2 s
}

// Validate reports every field that is out of bounds.
func (c Config) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	switch {
	case c.Path == "":
		fault("Path: is empty; name a file, such as bezoar.db")
	case strings.Contains(c.Path, ":memory:"):
		fault("Path: %q is not a file; use the memory store", c.Path)
	case strings.Contains(c.Path, "\x00"):
		fault("Path: %q holds a NUL", c.Path)
	}
	if c.MaxLetters < 0 {
		fault("MaxLetters: %d is negative", c.MaxLetters)
	}
	if c.Readers < 0 || c.Readers > maxReaders {
		fault("Readers: %d is not within 0 to %d", c.Readers, maxReaders)
	}
	if c.Reserve < 0 {
		fault("Reserve: %d is negative", c.Reserve)
	}
	if c.LockWait < 0 {
		fault("LockWait: %v is negative", c.LockWait)
	}
	return errors.Join(faults...)
}

const maxReaders = 64

func (c Config) withDefaults() Config {
	if c.MaxLetters == 0 {
		c.MaxLetters = ledger.DefaultMaxLetters
	}
	if c.Readers == 0 {
		c.Readers = 4
	}
	if c.LockWait == 0 {
		c.LockWait = 2 * time.Second
	}
	return c
}
