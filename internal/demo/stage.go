package demo

import (
	"context"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/admin"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// A stage is a fleet with something in front of it: one half of the comparison.
type stage interface {
	// Run serves until ctx ends and leaves no process behind. It calls ready
	// once with the base URL for callers, when every worker serves.
	Run(ctx context.Context, ready func(url string)) error
	// Serving is how many of all workers serve now.
	Serving() (n, all int)
	// Events is the stream of what happens.
	Events() *admin.Hub
}

// fleetName is what the demonstration's fleet is called.
const fleetName = "shop"

// kindDown is the kind of event that the demonstration looks at.
const kindDown = "worker.down"

// A toll counts the workers that a stage has lost, from its events.
type toll struct {
	mu   sync.Mutex // guards the rest
	lost int
	last time.Time
}

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
