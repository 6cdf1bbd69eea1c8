package demo

import (
	"context"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/admin"
	"github.com/bezoar-dev/bezoar/internal/adminapi"
)

// A stage is a fleet with something in front of it: one half of the comparison.
type stage interface {
	// Run serves until ctx ends and leaves no process behind. It calls ready
	// once with the base URL for callers, when every worker serves.
	Run(ctx context.Context, ready func(url string)) error
	// Fleet is how the workers stand now.
	Fleet() adminapi.Fleet
	// Events is the stream of what happens.
	Events() *admin.Hub
	// Verdicts is what is held against work now.
	Verdicts(ctx context.Context) []bezoar.Verdict
}

// fleetName is what the demonstration's fleet is called.
const fleetName = "shop"

// The kinds of events that the demonstration looks at.
const (
	kindUp   = "worker.up"
	kindDown = "worker.down"
)

// A toll counts the workers that a stage has lost, and keeps the last things
// that happened, from its events.
type toll struct {
	mu    sync.Mutex // guards the rest
	lost  int
	last  time.Time
	lines []string // newest last, at most tollLines
}

const tollLines = 16

// follow hands every event of hub after seq to see, until ctx ends.
func follow(ctx context.Context, hub *admin.Hub, seq uint64, see func(adminapi.Event)) {
	for {
		events, more := hub.After(seq, 256)
		for _, e := range events {
			see(e)
			seq = e.Seq
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}

// add is told of everything that happens.
func (t *toll) add(e adminapi.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if loss(e) {
		t.lost++
		t.last = e.At
	}
	if e.Kind == kindUp {
		return // a picture shows it, and it would drown the rest
	}
	t.lines = append(t.lines, e.Text)
	if len(t.lines) > tollLines {
		t.lines = t.lines[1:]
	}
}

// loss reports whether e is the death of a worker that nobody asked for.
func loss(e adminapi.Event) bool {
	if e.Kind != kindDown || e.Class == nil {
		return false
	}
	c := *e.Class
	return c == bezoar.Crash || c == bezoar.OOM || c == bezoar.Timeout
}

// count returns how many workers were lost, and when the last.
func (t *toll) count() (int, time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost, t.last
}

// tail returns the last lines.
func (t *toll) tail() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.lines...)
}

// reset forgets the losses.
func (t *toll) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost, t.last = 0, time.Time{}
}
