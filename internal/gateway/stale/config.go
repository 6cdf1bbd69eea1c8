package stale

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Config bounds a cache. The zero value means the defaults below.
type Config struct {
	MaxBytes   int64         // of all answers, with overhead; default 64 MiB
	MaxEntry   int           // of one body; default 1 MiB
	MaxEntries int           // number of answers; default 65,536
	Refresh    time.Duration // a younger copy is not recorded again; default 1 s; negative: every answer is recorded
	// Vary names the request headers whose values are in the caller's keys; see [Cache.AppendVary]. An answer that varies
	// on another header is not kept. Default: Accept, Accept-Encoding, Accept-Language, Origin.
	Vary []string
}

// maxVary bounds Config.Vary.
const maxVary = 32

// WithDefaults returns c with defaults in place of zero fields.
func (c Config) WithDefaults() Config {
	c.MaxBytes = cmp.Or(c.MaxBytes, 64<<20)
	c.MaxEntry = cmp.Or(c.MaxEntry, int(min(1<<20, max(c.MaxBytes, 0))))
	c.MaxEntries = cmp.Or(c.MaxEntries, 65_536)
	c.Refresh = cmp.Or(c.Refresh, time.Second)
	if c.Vary == nil {
		c.Vary = []string{"Accept", "Accept-Encoding", "Accept-Language", "Origin"}
	}
	return c
}

// Validate reports every impossible field.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs faults.List
	fault := func(bad bool, format string, args ...any) {
		errs.If(bad, format, args...)
	}
	fault(c.MaxBytes < 1, "MaxBytes is %d, want 1 or more", c.MaxBytes)
	fault(c.MaxEntry < 1 || int64(c.MaxEntry) > max(c.MaxBytes, 1), "MaxEntry is %d, want 1 to MaxBytes (%d)", c.MaxEntry, c.MaxBytes)
	fault(c.MaxEntries < 1, "MaxEntries is %d, want 1 or more", c.MaxEntries)
	fault(len(c.Vary) > maxVary, "Vary names %d headers, want %d at most", len(c.Vary), maxVary)
	for _, name := range c.Vary {
		fault(!isToken(name) || name == "*", "Vary names %q, want the name of a header", name)
		fault(strings.EqualFold(name, "cookie") || strings.EqualFold(name, "authorization"), "Vary names %s: an answer to one user is not kept", name)
	}
	return errors.Join(errs...)
}
