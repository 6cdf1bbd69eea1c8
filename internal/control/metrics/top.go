package metrics

import (
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/policy/sketch"
)

// Names of the windows.
const (
	lastMinute = iota
	lastTen
	numWindows
)

func windowNames() [numWindows]string {
	return [numWindows]string{adminapi.LastMinute, adminapi.LastTenMinutes}
}

// top holds the windows of all rankings.
type top struct {
	mu       sync.Mutex // guards the fields below; acquired after a shard's lock
	counters int
	mode     string
	windows  [numWindows][numDims]*sketch.Window
	evicted  uint64 // by windows that no longer exist
}

func (t *top) open(counters int) error {
	t.counters = counters
	for i, cfg := range [numWindows]sketch.Config{
		{Counters: counters, Slots: 6, Slot: 10 * time.Second},
		{Counters: counters, Slots: 10, Slot: time.Minute},
	} {
		for d := range t.windows[i] {
			w, err := sketch.NewWindow(cfg)
			if err != nil {
				return err
			}
			t.windows[i][d] = w
		}
	}
	return nil
}

// call sets the way in which callers are named. With forget, the known callers are
// forgotten.
func (t *top) call(mode string, forget bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mode = mode; !forget {
		return
	}
	t.evicted = t.lost()
	_ = t.open(t.counters) // the same values were valid before
}

// lost returns how often a caller lost its counter to another one. The caller of lost holds
// t.mu.
func (t *top) lost() uint64 {
	n := t.evicted
	for i := range t.windows {
		for _, w := range t.windows[i] {
			n += w.Evicted()
		}
	}
	return n
}

// drain adds a tally to the windows and empties it. The caller holds its lock.
func (t *top) drain(from *tally) {
	if from.n == 0 && from.rest == (weights{}) {
		return
	}
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.windows {
		for d, w := range t.windows[i] {
			slot := w.Slot(now)
			slot.Add(0, nil, from.rest[d])
			for j := range from.rows[:from.n] {
				if r := &from.rows[j]; r.weighs[d] > 0 {
					slot.Add(r.key, &r.name, r.weighs[d])
				}
			}
		}
	}
	from.reset()
}

// defaultTop is the default number of listed callers.
const defaultTop = 20

// Top returns the callers with the highest usage. Unknown words select the defaults.
func (s *Requests) Top(q adminapi.TopQuery) adminapi.Top {
	s.flush()
	dim, window := 0, 0
	for i, name := range dims() {
		if name == q.By {
			dim = i
		}
	}
	for i, name := range windowNames() {
		if name == q.Window {
			window = i
		}
	}
	if q.Limit <= 0 {
		q.Limit = defaultTop
	}
	return s.top.list(dim, window, min(q.Limit, adminapi.MaxTop))
}

func (t *top) list(dim, window, limit int) adminapi.Top {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	sum := t.windows[window][dim].Sum(now)
	out := adminapi.Top{
		By: dims()[dim], Window: windowNames()[window], Since: sum.Since, At: now,
		Total: sum.Total, Error: sum.Error, Names: t.mode, Callers: []adminapi.TopCaller{},
	}
	if out.Since.IsZero() {
		out.Since = now
	}
	at := map[uint64]int{} // of the listed callers
	for _, c := range sum.Counts[:min(len(sum.Counts), limit)] {
		at[c.Key] = len(out.Callers)
		out.Callers = append(out.Callers, adminapi.TopCaller{
			Caller: c.Name.String(), Value: c.Count, Error: c.Over, Share: float64(c.Count) / float64(sum.Total), Also: map[string]uint64{},
		})
	}
	for d, name := range dims() {
		if d == dim {
			continue
		}
		also := t.windows[window][d].Sum(now)
		for i := range out.Callers {
			if also.Error == 0 { // all callers are known
				out.Callers[i].Also[name] = 0
			}
		}
		for _, c := range also.Counts {
			if i, ok := at[c.Key]; ok {
				out.Callers[i].Also[name] = c.Count
			}
		}
	}
	return out
}
