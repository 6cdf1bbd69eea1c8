package sketch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Config says how much a [Window] remembers.
type Config struct {
	Counters int           // of each slot; default 128
	Slots    int           // number of past slots that still count; default 6
	Slot     time.Duration // length of a slot; default 10 s
}

// Bounds of a [Config].
const (
	MaxSlots        = 1000
	defaultCounters = 128
	defaultSlots    = 6
	defaultSlot     = 10 * time.Second
)

func (c Config) withDefaults() Config {
	c.Counters = cmp.Or(c.Counters, defaultCounters)
	c.Slots = cmp.Or(c.Slots, defaultSlots)
	c.Slot = cmp.Or(c.Slot, defaultSlot)
	return c
}

// Validate reports every invalid field.
func (c Config) Validate() error {
	var errs faults.List
	errs.If(c.Counters < 0 || c.Counters > MaxCounters, "Counters is %d, want 1 to %d", c.Counters, MaxCounters)
	errs.If(c.Slots < 0 || c.Slots > MaxSlots, "Slots is %d, want 1 to %d", c.Slots, MaxSlots)
	errs.If(c.Slot < 0, "Slot is %v, want more than 0s", c.Slot)
	return errors.Join(errs...)
}

// A Window counts over the last Slots × Slot and the current slot. Create it with [NewWindow]. It is not safe for
// concurrent use.
type Window struct {
	cfg   Config
	slots []Slot // a ring
	now   int    // index of the current slot
	first time.Time
}

// Slot is a part of a [Window].
type Slot struct {
	began   time.Time // zero: empty
	total   uint64
	counted *Sketch
}

// NewWindow returns an empty window, or every fault of cfg.
func NewWindow(cfg Config) (*Window, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("window: %w", err)
	}
	w := &Window{cfg: cfg.withDefaults()}
	w.slots = make([]Slot, w.cfg.Slots+1)
	for i := range w.slots {
		w.slots[i].counted = New(w.cfg.Counters)
	}
	return w, nil
}

// Add adds n to the key.
func (w *Window) Add(now time.Time, key uint64, name *Name, n uint64) { w.Slot(now).Add(key, name, n) }

// Add adds n to the key. With a nil name it adds only to the total.
func (s *Slot) Add(key uint64, name *Name, n uint64) {
	s.total += n
	if name != nil {
		s.counted.Add(key, name, n)
	}
}

// Slot returns the current slot, for callers that add much at once. It is valid until the next call of any method of w. If
// the clock steps back, nothing changes.
func (w *Window) Slot(now time.Time) *Slot {
	if w.first.IsZero() {
		w.first = now
	}
	s := &w.slots[w.now]
	if s.began.IsZero() {
		s.began = now.Truncate(w.cfg.Slot)
	}
	gone := int64(now.Sub(s.began) / w.cfg.Slot)
	if gone <= 0 {
		return s
	}
	began := s.began
	for i := max(gone-int64(len(w.slots)), 0) + 1; i <= gone; i++ {
		w.now = (w.now + 1) % len(w.slots)
		s = &w.slots[w.now]
		s.began, s.total = began.Add(time.Duration(i)*w.cfg.Slot), 0
		s.counted.Reset()
	}
	return s
}

// Sum is the content of a window.
type Sum struct {
	Since  time.Time // earlier additions do not count
	Total  uint64    // of everybody
	Error  uint64    // largest error of a count; keys with more than this are always listed
	Counts []Count   // the largest first
}

// Sum adds up the current content of the window.
func (w *Window) Sum(now time.Time) Sum {
	w.Slot(now)
	sum := Sum{Since: w.first}
	type about struct {
		Count
		low     uint64 // lower bound
		without uint64 // sum of the smallest counts of the slots in which it has a counter
	}
	all := map[uint64]*about{}
	for i := range w.slots {
		s := &w.slots[i]
		if s.began.IsZero() {
			continue
		}
		if i == (w.now+1)%len(w.slots) && s.began.After(sum.Since) {
			sum.Since = s.began
		}
		least := s.counted.Min()
		sum.Total += s.total
		sum.Error += least
		for c := range s.counted.All {
			a := all[c.Key]
			if a == nil {
				a = &about{Count: Count{Key: c.Key, Name: c.Name}}
				all[c.Key] = a
			}
			a.Count.Count += c.Count
			a.low += c.Count - c.Over
			a.without += least
		}
	}
	sum.Counts = make([]Count, 0, len(all))
	for _, a := range all {
		c := a.Count
		c.Count += sum.Error - a.without // it may have as much where it has no counter
		c.Over = c.Count - a.low
		sum.Counts = append(sum.Counts, c)
	}
	slices.SortFunc(sum.Counts, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Over, b.Over), cmp.Compare(a.Key, b.Key))
	})
	return sum
}

// Evicted returns how often a key lost its counter to another one.
func (w *Window) Evicted() (n uint64) {
	for i := range w.slots {
		n += w.slots[i].counted.Evicted()
	}
	return n
}
