package fleet

import (
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/policy/balance"
)

// State is the state of a worker.
type State string

// The states.
const (
	Down     State = "down"
	Serving  State = "serving"
	Lane     State = "lane"
	Draining State = "draining"
)

// Worker is one life of one worker: one epoch.
type Worker struct {
	name  string
	addr  string
	epoch uint64
	since time.Time
	conn  any

	ended    chan struct{}
	end      End           // valid once ended is closed
	state    State         // guarded by Fleet.mu
	leaving  bool          // guarded by Fleet.mu; told to drain while it is the lane
	inFlight int           // guarded by Fleet.mu
	streams  int           // guarded by Fleet.mu; part of inFlight that does not count as work
	idle     chan struct{} // guarded by Fleet.mu; closed when inFlight reaches 0; nil if nobody waits
	check    *check        // guarded by Fleet.mu; the check that runs
	served   atomic.Uint64
	answered atomic.Uint64 // attempts that ended in an answer below 500
	spoke    atomic.Uint64 // attempts that ended in an answer, except those in the lane
	silence  silence       // guarded by Fleet.mu
	left     atomic.Int64  // when work last left it, in nanoseconds after since; 0: never
	parked   bool          // guarded by Fleet.mu; it is the lane and only watched
	baking   bool          // guarded by Fleet.mu; see Fleet.Bake

	place   *slot       // fixed once it is up
	at      int         // guarded by Fleet.mu; index in Fleet.free; -1: not in it
	sick    string      // guarded by Fleet.mu; reason; "": well
	ejected *time.Timer // guarded by Fleet.mu; readmits it; nil: not ejected
	until   time.Time   // guarded by Fleet.mu; end of the newest ejection
	fresh   time.Time   // guarded by Fleet.mu; when its slow start began

	recordMu sync.Mutex // guards record; taken after Fleet.mu if both are needed
	record   balance.Record
}

// check is a check of a worker that several callers share.
type check struct {
	doubt  Doubt
	done   chan struct{}
	health Health
}

// Name returns the worker's name, the same in all its lives.
func (w *Worker) Name() string { return w.name }

// Addr returns the address of this life: host:port.
func (w *Worker) Addr() string { return w.addr }

// Epoch returns the number of this life, unique in the process.
func (w *Worker) Epoch() uint64 { return w.epoch }

// Since returns when this life began.
func (w *Worker) Since() time.Time { return w.since }

// Conn returns what [Config.Connect] made for this life.
func (w *Worker) Conn() any { return w.conn }

// Quiet returns how long ago work last left this life. For a life without work it is the longest duration.
func (w *Worker) Quiet() time.Duration {
	last := w.left.Load()
	if last == 0 {
		return math.MaxInt64
	}
	return time.Since(w.since) - time.Duration(last)
}

// Ended returns a channel that is closed when this life is over and judged.
func (w *Worker) Ended() <-chan struct{} { return w.ended }

// End returns how this life ended; false while it goes on.
func (w *Worker) End() (End, bool) {
	select {
	case <-w.ended:
		return w.end, true
	default:
		return End{}, false
	}
}

func (w *Worker) finish(end End) {
	w.end = end
	close(w.ended)
	if c, ok := w.conn.(io.Closer); ok {
		_ = c.Close() // its connections died with the worker
	}
}
