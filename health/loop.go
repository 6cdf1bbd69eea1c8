package health

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Loop is a part of this process that must keep going: the loop of a worker, a writer, a
// consumer. If it does not beat for too long, the process is not alive, since only a
// restart helps.
type Loop struct {
	name   string
	within time.Duration
	h      *Health
	last   atomic.Int64 // when it beat, by Health.life
}

// Loop adds a loop that beats at least every within, 10 s or more. Choose minutes, because
// a restart costs more than a late beat. Time in which the whole process was stopped or
// starved does not count: Health.Run counts the seconds that it was running itself.
func (h *Health) Loop(name string, within time.Duration) (*Loop, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs faults.List
	if err := checkName(name); err != nil {
		errs = append(errs, err)
	}
	errs.If(within < 10*time.Second || within > 24*time.Hour, "within is %v, want 10s to 24h", within)
	errs.If(slices.ContainsFunc(h.loops, func(l *Loop) bool { return l.name == name }), "the name is taken")
	errs.If(len(h.loops) >= MaxChecks, "there are %d loops already, the most", MaxChecks)
	if len(errs) > 0 {
		return nil, fmt.Errorf("health: loop %.80q: %w", name, errors.Join(errs...))
	}
	l := &Loop{name: name, within: within, h: h}
	l.Beat()
	h.loops = append(h.loops, l)
	return l, nil
}

// Beat says that the loop is running. It allocates nothing and takes no lock.
func (l *Loop) Beat() { l.last.Store(l.h.life.Load()) }

// End says that the loop has ended as planned.
func (l *Loop) End() {
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	l.h.loops = slices.DeleteFunc(l.h.loops, func(o *Loop) bool { return o == l })
}

// silent is for how long the loop has not beaten.
func (l *Loop) silent() time.Duration {
	return time.Duration(max(0, l.h.life.Load()-l.last.Load()))
}

// stuck reports whether that is too long.
func (l *Loop) stuck() bool { return l.silent() > l.within }
