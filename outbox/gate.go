package outbox

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/policy/backoff"
)

// gate admits batches to one sink, and pauses the sink while its destination is
// unreachable. After a pause one batch tries; the others wait for its result.
//
//	open ──it failed──► paused ──time is over──► trying ──it worked──► open
//	                      ▲                        │
//	                      └───────it failed────────┘
type gate struct {
	name   string
	place  int // index of the sink
	pauses backoff.Config
	alarms *alarms

	mu     sync.Mutex // guards the fields below
	fails  int        // consecutive failures
	until  time.Time
	trying bool
	shift  int // after failures, the batch size is divided by 8^shift
	reason string
	count  int64
	took   time.Duration
	change chan struct{} // closed on every change of the state
}

// maxShift reduces the largest batch to one event.
const maxShift = 5

func newGate(place int, name string, pauses backoff.Config, a *alarms) *gate {
	return &gate{name: name, place: place, pauses: pauses, alarms: a, change: make(chan struct{})}
}

// paused reports whether a batch would have to wait.
func (g *gate) paused() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.fails > 0
}

// enter waits until a batch may be sent. It returns how many of n events the batch may
// contain. After enter returns ok, the caller must call pass, fail or leave. calm reports
// whether the sink's last call succeeded.
func (g *gate) enter(ctx context.Context, n int) (most int, calm, ok bool) {
	for {
		g.mu.Lock()
		wait, change := time.Until(g.until), g.change
		switch {
		case ctx.Err() != nil:
			g.mu.Unlock()
			return 0, false, false
		case g.fails == 0:
			most = max(1, n>>(3*g.shift))
			g.mu.Unlock()
			return most, true, true
		case !g.trying && wait <= 0:
			g.trying = true
			most = max(1, n>>(3*g.shift))
			g.mu.Unlock()
			return most, false, true
		}
		g.mu.Unlock()
		if wait <= 0 {
			wait = time.Hour
		}
		select {
		case <-time.After(wait):
		case <-change:
		case <-ctx.Done():
		}
	}
}

// leave reports that the batch was not sent.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trying = false
	g.changed()
}

// pass reports that the destination works.
func (g *gate) pass(took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.took, g.shift, g.trying = took, max(0, g.shift-1), false
	if g.fails > 0 {
		g.fails, g.reason = 0, ""
		g.alarms.clearOf(alarmPaused, g.name)
	}
	g.changed()
}

// fail reports that the destination failed. Batches that were in progress when a pause
// began fail as well; only the first failure makes the next pause longer.
func (g *gate) fail(why error, after time.Duration, tried bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fails > 0 && !tried {
		return
	}
	const longest = 10 * time.Minute
	wait := max(g.pauses.Wait(g.fails, rand.Float64()), min(after, longest)) //nolint:gosec // jitter
	g.fails, g.trying, g.shift = g.fails+1, false, min(maxShift, g.shift+1)
	g.until, g.reason, g.count = time.Now().Add(wait), why.Error(), g.count+1
	g.alarms.set(alarmPaused, g.name, g.name+": "+g.reason)
	g.changed()
}

func (g *gate) changed() {
	close(g.change)
	g.change = make(chan struct{})
}

func (g *gate) stats() SinkStats {
	g.mu.Lock()
	defer g.mu.Unlock()
	return SinkStats{Name: g.name, Paused: g.fails > 0, Until: g.until, Reason: g.reason, Pauses: g.count, Latency: g.took}
}

// most returns how many of n events a batch may contain.
func (g *gate) most(n int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(1, n>>(3*g.shift))
}
