package circuit

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// What bounds a set of breakers.
const (
	// DefaultMax is how many breakers there are at most unless Config.Max says
	// otherwise; maxMax is how many marks a store lists.
	DefaultMax = 4096
	maxMax     = 10_000
	// maxKey is how long the key of a mark may be, with the name escaped.
	maxKey = 255
)

// Config holds the settings that all breakers of a process share. The zero value is ready
// for a process that shares nothing.
type Config struct {
	Node     string        // names this process among those on Store; required with a Store
	Store    Marks         // shared by all nodes; nil: nothing is shared, and no override survives a restart
	Max      int           // breakers at most; default DefaultMax, at most 10,000
	Poll     time.Duration // how often the store is read; default 500 ms, 10 ms to 1 min
	ClaimFor time.Duration // how long the claim of a probe waits for the store; default 100 ms, 1 ms to 10 s
	Log      *slog.Logger  // nil discards
	Observe  func(Event)   // called by Run for every change, one call at a time; may be nil
}

// WithDefaults returns c with every zero field set to its default.
func (c Config) WithDefaults() Config {
	c.Max = cmp.Or(c.Max, DefaultMax)
	c.Poll = cmp.Or(c.Poll, 500*time.Millisecond)
	c.ClaimFor = cmp.Or(c.ClaimFor, 100*time.Millisecond)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// Validate reports every impossible field.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs faults.List

	errs.If(c.Store != nil && c.Node == "", "Node is empty, want a name that no other process on Store has")
	errs.If(len(c.Node) > maxKey, "Node has %d bytes, want %d at most", len(c.Node), maxKey)
	errs.If(c.Max < 1 || c.Max > maxMax, "Max is %d, want 1 to %d", c.Max, maxMax)
	errs.If(c.Poll < 10*time.Millisecond || c.Poll > time.Minute, "Poll is %v, want 10ms to 1m", c.Poll)
	errs.If(c.ClaimFor < time.Millisecond || c.ClaimFor > 10*time.Second, "ClaimFor is %v, want 1ms to 10s", c.ClaimFor)
	return errors.Join(errs...)
}

// keyOf is where the breaker's state is kept, or an error if the name cannot be
// one.
func keyOf(name string) (string, error) {
	key := prefix + url.PathEscape(name)
	if name == "" || len(key) > maxKey {
		return "", fmt.Errorf("the name of circuit breaker %.40q has %d bytes when escaped, want 1 to %d", name, len(key)-len(prefix), maxKey-len(prefix))
	}
	return key, nil
}
