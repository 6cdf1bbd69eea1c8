package supervise

import (
	"fmt"
	"slices"

	"github.com/bezoar-dev/bezoar/internal/process/proc"
	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// Update changes the settings while the workers run. Replicas, Grace, Drain, Health and Backoff apply at once: new workers
// start; surplus workers, the newest first, finish their work (within Drain), end, and leave the registry, in the
// background. Command, Dir, Env, Environ, Inherit, User and Memory apply to processes that start from now on. restart
// reports whether some processes run with older values, so that a [Supervisor.Restart] would change them, and the last
// restart did not stop because of these values. Until then the health of such a process is checked as before. Name,
// Registry, Output, Known and Log do not change.
//
// A worker that must restart before any worker has started with the new settings tries them once, and then the last good
// ones: a broken setting must not stop workers that can run. With Bake it does not try them at all: it starts with the
// earlier settings until a restart has replaced all workers.
//
// An invalid cfg changes nothing.
func (s *Supervisor) Update(cfg Config) (restart bool, err error) {
	cfg.Name, cfg.Registry, cfg.Output, cfg.Known, cfg.Log = s.name, s.reg, s.output, s.known, s.log
	if err := cfg.Validate(); err != nil {
		return false, fmt.Errorf("update fleet %s: %w", s.name, err)
	}
	next := cfg.withDefaults()
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.over:
		return false, fmt.Errorf("update fleet %s: %w", s.name, ErrNotRunning)
	default:
	}
	was := s.cfg.Load()
	for _, w := range s.slots {
		if l := w.current(); l != nil {
			s.settingsFor(l) // it keeps the newest settings that apply to it
		}
	}
	if sameProcess(was, &next) {
		s.good.CompareAndSwap(was, &next)
	}
	s.doubted.Store(nil)
	if !sameProcess(was, &next) {
		s.distrusted.Store(false)
	}
	s.cfg.Store(&next)
	s.resize(next.Replicas)
	close(s.changed)
	s.changed = make(chan struct{})
	outdated, changed := slices.ContainsFunc(s.slots, (*slot).outdated), !sameProcess(was, &next)
	if r := s.roll.Load(); r != nil && changed && !outdated {
		r.revert()
	}
	return outdated && (changed || !s.distrusted.Load()), nil
}

// Outdated reports whether a restart would give some process settings that it does not have.
func (s *Supervisor) Outdated() bool { return slices.ContainsFunc(s.places(), (*slot).outdated) }

// sameProcess reports whether a and b start the same process.
func sameProcess(a, b *Config) bool {
	return a == b || slices.Equal(a.Command, b.Command) && a.Dir == b.Dir && a.User == b.User && a.Memory == b.Memory &&
		slices.Equal(a.Env, b.Env) && slices.Equal(a.Environ, b.Environ) && sameInherit(&a.Inherit, &b.Inherit)
}

func sameInherit(a, b *proc.Inherit) bool {
	return slices.Equal(a.Secrets, b.Secrets) && slices.Equal(a.Drop, b.Drop) && slices.Equal(a.Keep, b.Keep)
}

// settingsFor returns the newest settings that apply to a life.
func (s *Supervisor) settingsFor(l *life) *Config {
	own, now := l.cfg.Load(), s.cfg.Load()
	if own != now && sameProcess(own, now) {
		l.cfg.Store(now)
		return now
	}
	return own
}

// change returns a channel that is closed when settings change.
func (s *Supervisor) change() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// places returns the slots by number, including those being removed.
func (s *Supervisor) places() []*slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.slots)
}

func (s *Supervisor) find(worker string) *slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byName[worker]
}

// place creates a slot. The caller holds mu, or is the only user of s.
func (s *Supervisor) place(number int) *slot {
	w := newSlot(s, number)
	s.slots = append(s.slots, w)
	sorted.Func(s.slots, func(a, b *slot) int { return a.number - b.number })
	s.byName[w.name] = w
	return w
}

// resize changes the number of wanted workers. The caller holds mu.
func (s *Supervisor) resize(n int) {
	numbers := make(map[int]bool, len(s.slots))
	for _, w := range slices.Clone(s.slots) {
		numbers[w.number] = true
		switch {
		case w.number <= n:
			w.Keep()
		case s.begin == nil: // Run has not begun
			s.forget(w)
		default:
			w.Remove()
		}
	}
	for number := 1; number <= n; number++ {
		if numbers[number] {
			continue
		}
		w := s.place(number)
		if s.begin != nil {
			s.reg.Add(w.name)
			s.begin(w)
		}
	}
}

// forget removes a slot. The caller holds mu.
func (s *Supervisor) forget(w *slot) {
	s.slots = slices.DeleteFunc(s.slots, func(o *slot) bool { return o == w })
	delete(s.byName, w.name)
	close(w.left)
}

// dismiss removes a slot that has ended, unless it is wanted again.
func (s *Supervisor) dismiss(w *slot) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !w.Removing() {
		return false
	}
	s.forget(w)
	if err := s.reg.Remove(w.name); err != nil {
		s.log.Error("cannot remove a worker from the registry", "worker", w.name, "err", err)
	}
	s.log.Info("worker removed", "worker", w.name)
	return true
}

// doubt remembers settings with which a worker did not start, unless one has.
func (s *Supervisor) doubt(c *Config) {
	now, good := s.cfg.Load(), s.good.Load()
	if good == nil || sameProcess(good, now) || !sameProcess(c, now) || s.doubted.Swap(now) == now {
		return
	}
	s.log.Warn("no worker has started with the new settings: workers that die restart with the old ones")
}

// trust remembers settings that work.
func (s *Supervisor) trust(c *Config) {
	if now := s.cfg.Load(); sameProcess(c, now) {
		s.good.Store(now)
		s.doubted.CompareAndSwap(now, nil)
	} else {
		s.good.CompareAndSwap(nil, c)
	}
}

// cameUp records that a worker became ready with c. If new processes must pass a bake, that is not enough, unless no other
// settings are known to work.
func (s *Supervisor) cameUp(c *Config) {
	if good := s.good.Load(); good == nil || sameProcess(good, c) || !c.Bake.on() {
		s.trust(c)
	}
}

// didNotStart records that a worker could not start with c.
func (w *slot) didNotStart(c *Config, ordered bool) {
	w.s.doubt(c)
	w.fallen = !ordered && !sameProcess(c, w.s.cfg.Load())
}

// choose returns the settings of w's next process: the new ones if they were ordered or have not failed, otherwise the last
// good ones, and both in turn if those fail as well.
func (w *slot) choose(ordered bool) *Config {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.s.cfg.Load()
	good := w.s.good.Load()
	if !ordered && !w.fallen && good != nil && !sameProcess(good, c) && (c.Bake.on() || w.s.doubted.Load() == c) {
		c = good
	}
	w.made = c
	return c
}

// begins records the settings of the newest process; nil: there is none.
func (w *slot) begins(c *Config) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made = c
}

func (w *slot) outdated() bool {
	if w.Removing() {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.made != nil && !sameProcess(w.made, w.s.cfg.Load())
}
