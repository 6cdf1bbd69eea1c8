package fleet

import (
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/policy/balance"
)

// State is where a worker stands.
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
	streams  int           // guarded by Fleet.mu; of inFlight, those that are no work
	idle     chan struct{} // guarded by Fleet.mu; closed when inFlight reaches 0, nil when nobody waits
	check    *check        // guarded by Fleet.mu; the look that is under way
	served   atomic.Uint64
	answered atomic.Uint64 // attempts that ended in an answer below 500
	spoke    atomic.Uint64 // attempts that ended in an answer, but for those in the lane
	silence  silence       // guarded by Fleet.mu
	left     atomic.Int64  // when work last left it, in nanoseconds since since; 0 when none has
	parked   bool          // guarded by Fleet.mu; it is the lane, and only watched
	baking   bool          // guarded by Fleet.mu; see Fleet.Bake

	place   *slot       // fixed once it is up
	at      int         // guarded by Fleet.mu; index in Fleet.free, -1 when it is not there
	sick    string      // guarded by Fleet.mu; why, "" when it is well
	ejected *time.Timer // guarded by Fleet.mu; readmits it, nil when it is not ejected
	until   time.Time   // guarded by Fleet.mu; of the newest ejection
	fresh   time.Time   // guarded by Fleet.mu; when its slow start began

	recordMu sync.Mutex // guards record; taken after Fleet.mu when both are
	record   balance.Record
}

// check is one look at a worker that several callers share.
type check struct {
	doubt  Doubt
	done   chan struct{}
	health Health
}

// Name returns the worker's name, the same in all its lives.
func (w *Worker) Name() string { return w.name }

// Addr returns where this life listens: host:port.
func (w *Worker) Addr() string { return w.addr }

// Epoch returns the number of this life, unique in the process.
func (w *Worker) Epoch() uint64 { return w.epoch }

// Since returns when this life began.
func (w *Worker) Since() time.Time { return w.since }

// Conn returns what [Config.Connect] made for this life.
func (w *Worker) Conn() any { return w.conn }

// Quiet returns how long ago work last left this life. A life that has had none is
// quiet for ever.
func (w *Worker) Quiet() time.Duration {
	last := w.left.Load()
	if last == 0 {
		return math.MaxInt64
	}
	return time.Since(w.since) - time.Duration(last)
}

// Ended returns a channel that is closed when this life is over and judged.
func (w *Worker) Ended() <-chan struct{} { return w.ended }

// End says how this life ended; false while it goes on.
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
		_ = c.Close() // whatever it held died with the worker
	}
}
