package outbox

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/policy/backoff"
)

// gate lets batches to one sink, and pauses it while its place is away. After a
// pause one batch tries; the others wait for its result.
//
//	open ──it failed──► paused ──time is over──► trying ──it worked──► open
//	                      ▲                        │
//	                      └───────it failed────────┘
type gate struct {
	name   string
	place  int // among the sinks
	pauses backoff.Config
	alarms *alarms

	mu     sync.Mutex // guards what follows
	fails  int        // since it worked
	until  time.Time
	trying bool
	shift  int // batches are smaller by 8^shift after failures
	reason string
	count  int64
	took   time.Duration
	change chan struct{} // closed on a change
}

// maxShift makes the largest batch one event.
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

// enter waits until a batch may be sent, and returns how many of n events it may
// have. What it returned for must come back by pass, fail or leave. calm is
// whether the sink worked the last time.
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
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-change:
		case <-ctx.Done():
		}
		t.Stop()
	}
}

// leave says that nothing was sent.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trying = false
	g.changed()
}

// pass says that the place works.
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

// fail says that the place did not work. It is a failure of those batches too that
// were under way when the pause began: only the first lengthens it.
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

// most is how many of n events a batch may have.
func (g *gate) most(n int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(1, n>>(3*g.shift))
}
