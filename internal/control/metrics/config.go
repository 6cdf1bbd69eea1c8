package metrics

import (
	"errors"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/policy/sketch"
)

// MaxRoutes is the maximum number of routes with their own counters.
const MaxRoutes = 10_000

// DefaultCounters is the default number of callers per time slot and per ranking; the six
// rankings then take 1.7 MB.
const DefaultCounters = 128

// Config sets the memory limits. The zero value is useful.
type Config struct {
	Counters int // callers per time slot and ranking; default 128
	Shards   int // a power of two; default the number of processors, at most 16
}

// Validate returns an error that names every invalid field, or nil.
func (c Config) Validate() error {
	var errs faults.List
	errs.If(c.Counters < 0 || c.Counters > sketch.MaxCounters, "Counters is %d, want 1 to %d", c.Counters, sketch.MaxCounters)
	errs.If(c.Shards < 0 || c.Shards > maxShards || c.Shards&(c.Shards-1) != 0, "Shards is %d, want a power of two up to %d", c.Shards, maxShards)
	return errors.Join(errs...)
}

// Route is a route with its own counters.
type Route struct {
	Name  string
	Fleet string // empty for the route of a queue
}

// Settings may change while requests are counted.
type Settings struct {
	Routes []Route // at most [MaxRoutes]; further routes count for the route ""
	// Shown says how callers are shown, by the name of the route. Callers of other routes
	// are not listed.
	Shown map[string]Shown
	// Labels changes when callers' labels change. The counted callers are then forgotten.
	Labels string
}

// Shown says how the callers of a route are shown. A caller of several routes counts as one
// if these routes show it in the same way.
type Shown struct {
	How string // such as hash
	As  func(caller string) string
}
