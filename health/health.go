package health

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/internal/process/procstat"
)

// Health checks this process and what it calls. Its methods are safe for concurrent use.
type Health struct {
	cfg    Config
	source source
	random func() float64
	life   atomic.Int64  // how long Run has lived, in ns: the clock of the loops
	wake   chan struct{} // tells Run that something was added or has ended

	mu       sync.Mutex // guards what follows; not held during callbacks, I/O and logging
	phase    phase
	draining bool
	state    State // of everything
	since    time.Time
	probes   []*probe
	deps     []*Dependency
	loops    []*Loop
	faults   map[string]string // what could not be watched as configured, by name
	changes  []change          // to be logged
}

type phase uint8

const (
	fresh    phase = iota // Run was not called
	starting              // not every check has been made once
	running
	stopped
)

// source is where numbers about this machine come from.
type source struct {
	self   func() (procstat.Process, error)
	memory func() (procstat.Mem, error)
	disk   func(string) (procstat.Space, error)
	cpu    func() (procstat.PSI, error)
}

// entry is what all checks have in common.
type entry struct {
	name     string
	kind     Kind
	optional bool
	state    State
	since    time.Time // of state; zero before it was known
	at       time.Time // of the last look
	skipped  string    // why there is nothing to look at; no secret
	detail   string    // may hold secrets
	measures []Measure
}

// change is one of a check's state.
type change struct {
	check    string
	from, to State
	detail   string
}

// New returns a Health with the checks of this machine that cfg asks for. No check runs
// before Health.Run.
func New(cfg Config) (*Health, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	h := &Health{
		cfg:    cfg.WithDefaults(),
		source: source{self: procstat.Self, memory: procstat.Memory, disk: procstat.Disk, cpu: cpuPressure},
		random: jitter,
		wake:   make(chan struct{}, 1),
		faults: map[string]string{},
	}
	h.addLocal()
	return h, nil
}

// Drain makes the process not ready for good: it is about to stop and should get no new
// traffic. It stays alive.
func (h *Health) Drain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.draining = true
}

// taken reports whether a check has that name. h.mu is held.
func (h *Health) taken(name string) bool {
	return slices.ContainsFunc(h.probes, func(p *probe) bool { return p.name == name }) ||
		slices.ContainsFunc(h.deps, func(d *Dependency) bool { return d.name == name })
}

// room wants a free name and room for one more. h.mu is held.
func (h *Health) room(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if h.taken(name) {
		return fmt.Errorf("the name %q is taken", name)
	}
	if n := len(h.probes) + len(h.deps); n >= MaxChecks {
		return fmt.Errorf("there are %d checks already, the most", n)
	}
	return nil
}

// Remove removes a check or dependency. A run in progress ends by itself, and its result
// is dropped.
func (h *Health) Remove(name string) {
	h.mu.Lock()
	h.probes = slices.DeleteFunc(h.probes, func(p *probe) bool {
		p.removed = p.removed || p.name == name
		return p.name == name
	})
	h.deps = slices.DeleteFunc(h.deps, func(d *Dependency) bool {
		d.removed = d.removed || d.name == name
		return d.name == name
	})
	h.sum(time.Now())
	h.mu.Unlock()
	h.nudge()
}

// nudge makes Run look again what is due.
func (h *Health) nudge() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// become gives a check its state. h.mu is held.
func (h *Health) become(e *entry, now time.Time, s State, detail string) {
	if e.since.IsZero() || s != e.state {
		if !e.since.IsZero() || s != OK {
			h.changes = append(h.changes, change{e.name, e.state, s, detail})
		}
		e.since = now
	}
	e.state, e.at, e.detail = s, now, detail
}

// sum joins the states of all checks. h.mu is held.
func (h *Health) sum(now time.Time) {
	total := h.total(nil)
	if h.since.IsZero() || total != h.state {
		h.state, h.since = total, now
	}
}

// total is the state without the checks of some names. h.mu is held.
func (h *Health) total(without map[string]bool) State {
	total := OK
	for e := range h.entries() {
		if !without[e.name] {
			total = total.With(e.state, e.optional)
		}
	}
	if len(h.faults) > 0 {
		total = total.With(Degraded, true)
	}
	return total
}

// entries yields every check. h.mu is held.
func (h *Health) entries() func(yield func(*entry) bool) {
	return func(yield func(*entry) bool) {
		for _, p := range h.probes {
			if !yield(&p.entry) {
				return
			}
		}
		for _, d := range h.deps {
			if !yield(&d.entry) {
				return
			}
		}
	}
}

// tell logs what has changed. h.mu is not held: a log may be slow.
func (h *Health) tell(changes []change) {
	for _, c := range changes {
		level := slog.LevelInfo
		if c.to > c.from {
			level = slog.LevelWarn
		}
		h.cfg.Log.Log(context.Background(), level, "health changed",
			"check", c.check, "from", c.from.String(), "to", c.to.String(), "detail", c.detail)
	}
}
