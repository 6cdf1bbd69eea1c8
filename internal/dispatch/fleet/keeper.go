package fleet

import (
	"context"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// End says how and why one epoch, the life of one worker, ended.
type End struct {
	// Planned is true for ends that blame nobody: drain, deploy, SIGTERM, or an announcement by a failing health check.
	Planned  bool
	Class    bezoar.Class // Crash, OOM, Timeout (a hang that had to be killed), Interrupted, SpawnFailed
	At       time.Time
	Detail   string   // for people: "signal: killed (out of memory, limit 256 MiB)"
	ExitCode int      // -1: a signal ended it, or it is unknown
	Signal   string   // "SIGSEGV"; "": none is known
	Stderr   []string // last lines, bounded by the reader
}

// Doubt says why a [Keeper] is asked about a worker.
type Doubt int

// The doubts.
const (
	Broken  Doubt = iota // a connection broke with work in flight
	Overdue              // an attempt passed its deadline without an answer
)

// Health is the finding of a [Keeper].
type Health int

// The findings. For Gone, the Keeper has already called [Fleet.Down] for the epoch.
const (
	Alive        Health = iota // the process lives and answers
	Unresponsive               // it lives but does not answer its health check
	Gone                       // the epoch has ended
)

// String returns the finding's name.
func (h Health) String() string {
	return [...]string{"alive", "unresponsive", "gone", "unknown"}[min(uint(h), 3)]
}

// Keeper knows the real state of a fleet's workers: a supervisor of processes, or a prober of workers that somebody else
// starts. It reports lives through [Fleet.Up], [Fleet.Drain] and [Fleet.Down], and answers questions by these methods. They
// are called concurrently, and no locks are held during the calls.
type Keeper interface {
	// Check examines the worker now, because of doubt, and returns within a second or two. For Broken it waits a moment for
	// an exit that may come. If the epoch has ended, it calls Down before it returns Gone.
	Check(ctx context.Context, worker string, epoch uint64, doubt Doubt) Health
	// Kill ends an epoch that hangs. The end comes through Down with Class Timeout. A keeper that cannot kill reports the
	// epoch as ended and keeps the worker out until it answers again. Kill does not block.
	Kill(worker string, epoch uint64, why string)
	// Substitute starts another process in the place of an epoch that may hang, and lets the old one finish its work beside
	// it. A keeper that cannot start processes does nothing. Substitute does not block.
	Substitute(worker string, epoch uint64, why string)
}
