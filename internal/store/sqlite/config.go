package sqlite

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/faults"
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
	var errs faults.List
	switch {
	case c.Path == "":
		errs.Add("Path: is empty; name a file, such as bezoar.db")
	case strings.Contains(c.Path, ":memory:"):
		errs.Add("Path: %q is not a file; use the memory store", c.Path)
	case strings.Contains(c.Path, "\x00"):
		errs.Add("Path: %q holds a NUL", c.Path)
	}
	errs.If(c.MaxLetters < 0, "MaxLetters: %d is negative", c.MaxLetters)
	errs.If(c.Readers < 0 || c.Readers > maxReaders, "Readers: %d is not within 0 to %d", c.Readers, maxReaders)
	errs.If(c.Reserve < 0, "Reserve: %d is negative", c.Reserve)
	errs.If(c.LockWait < 0, "LockWait: %v is negative", c.LockWait)
	return errors.Join(errs...)
}

const maxReaders = 64

func (c Config) withDefaults() Config {
	c.MaxLetters = cmp.Or(c.MaxLetters, ledger.DefaultMaxLetters)
	c.Readers = cmp.Or(c.Readers, 4)
	c.LockWait = cmp.Or(c.LockWait, 2*time.Second)
	return c
}
