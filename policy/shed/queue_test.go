package shed_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/policy/shed"
)

// waits is a model of one that waits.
type waits struct {
	id       int
	p        shed.Priority
	deadline time.Time
}

// model is a queue as one would describe it: a list in the order of arrival.
type model struct {
	list  []waits
	since time.Time
}

func (m *model) overloaded(now time.Time) bool {
	return len(m.list) > 0 && now.Sub(m.since) >= 100*time.Millisecond
}

// next is the index of who goes first.
func (m *model) next(now time.Time) int {
	best := -1
	for i, w := range m.list {
		if best < 0 || w.p > m.list[best].p || w.p == m.list[best].p && m.overloaded(now) {
			best = i
		}
	}
	return best
}

// victim is the index of who gives way to p, or -1.
func (m *model) victim(now time.Time, p shed.Priority) int {
	worst := -1
	for i, w := range m.list {
		if worst < 0 || w.p < m.list[worst].p {
			worst = i
		}
	}
	if worst < 0 || m.list[worst].p > p || m.list[worst].p == p && !m.overloaded(now) {
		return -1
	}
	return worst
}

func TestTheQueueIsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q shed.Queue
		var m model
		now, most := start, 0
		priority := rapid.SampledFrom([]shed.Priority{shed.CriticalPlus, shed.Critical, shed.SheddablePlus, shed.Sheddable})
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				w := waits{p: priority.Draw(t, "priority")}
				if rapid.Bool().Draw(t, "hurried") {
					w.deadline = now.Add(time.Duration(rapid.IntRange(-50, 500).Draw(t, "left")) * time.Millisecond)
				}
				if len(m.list) == 0 {
					m.since = now
				}
				w.id = q.Push(now, w.p, w.deadline)
				if slices.ContainsFunc(m.list, func(o waits) bool { return o.id == w.id }) {
					t.Fatalf("place %d was given twice", w.id)
				}
				m.list = append(m.list, w)
				most = max(most, len(m.list))
				if w.id >= most {
					t.Fatalf("place %d, though no more than %d waited at once", w.id, most)
				}
			},
			"pop": func(t *rapid.T) {
				quick := time.Duration(rapid.IntRange(0, 200).Draw(t, "quick")) * time.Millisecond
				i := m.next(now)
				id, late, ok := q.Pop(now, quick)
				if ok != (i >= 0) {
					t.Fatalf("popped %v, want %v", ok, i >= 0)
				}
				if !ok {
					return
				}
				w := m.list[i]
				m.list = slices.Delete(m.list, i, i+1)
				wantLate := !w.deadline.IsZero() && now.Add(max(quick, 1)).After(w.deadline)
				if id != w.id || late != wantLate {
					t.Fatalf("popped %d, late %v; want %d, %v", id, late, w.id, wantLate)
				}
			},
			"remove": func(t *rapid.T) {
				if len(m.list) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(m.list)-1).Draw(t, "who")
				q.Remove(m.list[i].id)
				q.Remove(m.list[i].id) // the second time does nothing
				m.list = slices.Delete(m.list, i, i+1)
			},
			"pass": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 120).Draw(t, "ms")) * time.Millisecond)
			},
			"": func(t *rapid.T) {
				p := priority.Draw(t, "asks")
				ahead, of := 0, 0
				for _, w := range m.list {
					if w.p > p || w.p == p && !m.overloaded(now) {
						ahead++
					}
					if w.p == p {
						of++
					}
				}
				if q.Len() != len(m.list) || q.LenOf(p) != of || q.Ahead(now, p) != ahead || q.Overloaded(now) != m.overloaded(now) {
					t.Fatalf("%d wait, %d of %v, %d ahead, overloaded %v; want %d, %d, %d, %v", q.Len(), q.LenOf(p), p, q.Ahead(now, p), q.Overloaded(now), len(m.list), of, ahead, m.overloaded(now))
				}
				id, ok := q.Victim(now, p)
				if i := m.victim(now, p); ok != (i >= 0) || ok && id != m.list[i].id {
					t.Fatalf("%d, %v gives way to %v; want number %d of %v", id, ok, p, i, m.list)
				}
			},
		})
	})
}

func TestRemovingWhatWasNeverThere(t *testing.T) {
	var q shed.Queue
	q.Remove(-1)
	q.Remove(0)
	if _, _, ok := q.Pop(start, 0); ok || q.Len() != 0 {
		t.Error("an empty queue has something")
	}
}
