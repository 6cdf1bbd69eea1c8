package watchdog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const mib = 1 << 20

// herd is a fleet whose workers do what a test says.
type herd struct {
	mu      sync.Mutex // guards what follows
	workers []Worker
	memory  map[string]int64
	held    string
	asked   []string // "w-2: why"
	now, at int      // restarts under way, and the most at a time
	takes   time.Duration
	fails   bool
	cures   bool
	events  []string
}

func newHerd(n int) *herd {
	h := &herd{memory: map[string]int64{}, takes: time.Second, cures: true}
	for i := range n {
		name := fmt.Sprintf("w-%d", i+1)
		h.workers = append(h.workers, Worker{Name: name, PID: 1, Life: uint64(i + 1), Up: time.Now(), Serving: true})
		h.memory[name] = 100 * mib
	}
	return h
}

func (h *herd) Workers() []Worker {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.workers)
}

func (h *herd) Restart(ctx context.Context, worker, why string) error {
	h.mu.Lock()
	h.asked = append(h.asked, worker+": "+why)
	h.now++
	h.at = max(h.at, h.now)
	takes := h.takes
	h.mu.Unlock()
	t := time.NewTimer(takes)
	defer t.Stop()
	err := error(nil)
	select {
	case <-t.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now--
	if err != nil {
		return err
	}
	if h.fails {
		return errors.New("the new process did not get ready")
	}
	for i := range h.workers {
		if w := &h.workers[i]; w.Name == worker {
			w.Life += 100
			w.Up = time.Now()
			if h.cures {
				h.memory[worker] = 100 * mib
			}
		}
	}
	return nil
}

func (h *herd) sample(w Worker) (Sample, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Sample{Memory: h.memory[w.Name]}, nil
}

func (h *herd) hold() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held
}

func (h *herd) observe(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, string(e.Kind)+" "+e.Worker)
}

// set changes what the herd does.
func (h *herd) set(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

func (h *herd) leak(names ...string) {
	h.set(func() {
		for _, n := range names {
			h.memory[n] = 900 * mib
		}
	})
}

func (h *herd) seen() (asked, events []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.asked), slices.Clone(h.events)
}

// config watches the herd's memory.
func (h *herd) config() Config {
	return Config{Name: "herd", Target: h, Held: h.hold, Sample: h.sample, Observe: h.observe, Rules: Rules{Limits: Limits{Memory: 512 * mib}}}
}

// start runs a watchdog until the test, or the returned function, ends it.
func start(t *testing.T, d *Watchdog) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func must(t *testing.T, d *Watchdog, err error) *Watchdog {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return d
}
