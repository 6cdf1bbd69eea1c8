package metrics

import (
	"errors"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/policy/sketch"
)

// MaxRoutes bounds the routes that have counters of their own.
const MaxRoutes = 10_000

// DefaultCounters is how many callers each slot of a window and each of the six
// rankings knows; with it they take 1.7 MB.
const DefaultCounters = 128

// Config says how much is remembered. The zero value is useful.
type Config struct {
	Counters int // callers known in each slot of time, for each ranking; default 128
	Shards   int // a power of two; default as many as there are processors, at most 16
}

// Validate reports every impossible field.
func (c Config) Validate() error {
	var errs faults.List
	errs.If(c.Counters < 0 || c.Counters > sketch.MaxCounters, "Counters is %d, want 1 to %d", c.Counters, sketch.MaxCounters)
	errs.If(c.Shards < 0 || c.Shards > maxShards || c.Shards&(c.Shards-1) != 0, "Shards is %d, want a power of two up to %d", c.Shards, maxShards)
	return errors.Join(errs...)
}

// Route is one that has counters of its own.
type Route struct {
	Name  string
	Fleet string // "" for a queue's
}

// Settings are what changes while it counts.
type Settings struct {
	Routes []Route // at most [MaxRoutes]; what is more counts for the route ""
	// Shown says how callers are shown, by the names of routes. Callers of other
	// routes are not listed.
	Shown map[string]Shown
	// Labels differ when callers get other names. Those counted are forgotten then.
	Labels string
}

// Shown is how callers of a route are shown. A caller of several routes is one
// where they are shown alike.
type Shown struct {
	How string // such as hash
	As  func(caller string) string
}
