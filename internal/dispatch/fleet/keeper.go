package fleet

import (
	"context"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// End says how and why one epoch, the life of one worker, ended.
type End struct {
	// Planned endings (drain, deploy, SIGTERM, a worker that announced it by
	// failing its health check) blame nobody.
	Planned  bool
	Class    bezoar.Class // Crash, OOM, Timeout (a hang that had to be killed), Interrupted, SpawnFailed
	At       time.Time
	Detail   string   // for people: "signal: killed (out of memory, limit 256 MiB)"
	ExitCode int      // -1 when a signal ended it or nothing is known
	Signal   string   // "SIGSEGV", or "" when none is known
	Stderr   []string // last lines, bounded by who captured them
}

// Doubt says why somebody asks a [Keeper] to look at a worker.
type Doubt int

// The doubts.
const (
	Broken  Doubt = iota // a connection broke with work in flight
	Overdue              // an attempt passed its deadline without an answer
)

// Health is what a [Keeper] found.
type Health int

// The findings. Gone means that the Keeper has already called [Fleet.Down] for
// the epoch.
const (
	Alive        Health = iota // the process lives and answers
	Unresponsive               // it lives but does not answer its health check
	Gone                       // the epoch has ended
)

// String returns the finding's name.
func (h Health) String() string {
	return [...]string{"alive", "unresponsive", "gone", "unknown"}[min(uint(h), 3)]
}

// Keeper knows the real state of a fleet's workers: a supervisor of processes,
// or a prober of workers that somebody else starts. It reports lives through
// [Fleet.Up], [Fleet.Drain] and [Fleet.Down], and answers questions here. Its
// methods are called concurrently and without locks held.
type Keeper interface {
	// Check looks at the worker now, because of doubt, and returns within a
	// second or two. For Broken it waits a moment for an exit that may be on
	// its way. If the epoch has ended it calls Down before it returns Gone.
	Check(ctx context.Context, worker string, epoch uint64, doubt Doubt) Health
	// Kill ends an epoch that hangs; the ending arrives through Down with
	// Class Timeout. A keeper that cannot kill reports the epoch as ended and
	// keeps the worker out until it answers again. Kill does not block.
	Kill(worker string, epoch uint64, why string)
}
