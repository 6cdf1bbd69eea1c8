package main

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/openloop"
)

const (
	maxNotes = 12     // innocents that -explain tells of
	maxKnown = 100000 // requests that the rig remembers
)

// A count is what became of innocents of one class.
type count struct {
	Sent int `json:"sent"`
	OK   int `json:"ok"`
	// Cut were unsafe, and under way in a worker that died: nobody may send them
	// again.
	Cut int `json:"cut,omitempty"`
	// Broken were WebSockets or event streams that had begun and then ended.
	Broken  int     `json:"broken,omitempty"`
	Slowest float64 `json:"slowest_ms"` // whatever it got
}

// origin is whose a request was.
type origin uint8

const (
	unknown origin = iota
	innocent
	attacker
)

// A tally is what the callers saw. What was sent before begin is not counted.
type tally struct {
	mu      sync.Mutex // guards the rest
	begin   time.Time
	end     time.Time
	classes map[string]*count
	refused map[string]int // innocents, by status and rule
	failed  map[string]int // other innocents without an answer of 2xx
	byWhich map[string]int // verdict → innocents refused by it
	times   []time.Duration
	slowest time.Duration
	slowTo  string // the line of that request
	lateMax time.Duration
	notes   []string

	pills    int
	pillSaid map[string]int
	lastSaid map[string]int // of pills in the last third

	ids   map[string]origin // by X-Request-Id
	lines map[string]lines  // by method and target
}

// lines says who has sent what has this method and target, and an innocent's copy.
type lines struct {
	attacker, innocent bool
	copy               *shot
}

func newTally() *tally {
	return &tally{
		classes: map[string]*count{}, refused: map[string]int{}, failed: map[string]int{}, byWhich: map[string]int{},
		pillSaid: map[string]int{}, lastSaid: map[string]int{}, ids: map[string]origin{}, lines: map[string]lines{},
	}
}

// count makes the tally count from begin.
func (t *tally) count(begin, end time.Time) { t.begin, t.end = begin, end }

// late remembers how late the rig itself was.
func (t *tally) late(by time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lateMax = max(t.lateMax, by)
}

// begun notes who sends a request and returns an id for it. Only the rig knows
// whose the id is.
func (t *tally) begun(s *shot) string {
	id := fmt.Sprintf("%016x", rand.Uint64())
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.ids) >= maxKnown {
		return id
	}
	l := t.lines[s.line()]
	if s.pill {
		t.ids[id], l.attacker = attacker, true
	} else {
		t.ids[id], l.innocent = innocent, true
		if l.copy == nil {
			c := *s
			l.copy = &c
		}
	}
	t.lines[s.line()] = l
	return id
}

// ended counts a request that was due at the given time.
func (t *tally) ended(s *shot, at time.Time, how ending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at.Before(t.begin) {
		return
	}
	if s.pill {
		t.pills++
		said := how.said
		if how.rule != "" {
			said += " " + how.rule
		}
		t.pillSaid[said]++
		if at.After(t.end.Add(-t.end.Sub(t.begin) / 3)) {
			t.lastSaid[said]++
			if how.ok() && len(t.notes) < maxNotes {
				t.notes = append(t.notes, fmt.Sprintf("%+.3fs after %v: a late pill was answered", at.Sub(t.begin).Seconds(), how.took.Round(time.Millisecond)))
			}
		}
		return
	}
	c := t.class(s.class)
	c.Sent++
	c.Slowest = max(c.Slowest, openloop.MS(how.took))
	if how.took > t.slowest {
		t.slowest, t.slowTo = how.took, s.line()
	}
	if how.ok() {
		c.OK++
		t.times = append(t.times, how.took)
		return
	}
	t.countHarm(s, at, how, c)
}

// class returns the count of a class.
func (t *tally) class(name string) *count {
	c := t.classes[name]
	if c == nil {
		c = new(count)
		t.classes[name] = c
	}
	return c
}

// broke counts a WebSocket or an event stream of the class that had begun well.
func (t *tally) broke(class string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at.After(t.begin) {
		t.class(class).Broken++
	}
}

// countHarm counts an innocent that got no good answer.
func (t *tally) countHarm(s *shot, at time.Time, how ending, c *count) {
	why := how.said
	if how.rule != "" {
		why += " " + how.rule
	}
	switch {
	case how.refused():
		t.refused[why]++
		if how.verdict != "" {
			t.byWhich[how.verdict]++
		}
	case s.unsafe() && (how.said == "502" || how.said == "broken"):
		c.Cut++
	default:
		t.failed[why]++
	}
	if len(t.notes) < maxNotes {
		t.notes = append(t.notes, fmt.Sprintf("%+.3fs after %v: %s %.60s: %s %s %s %s",
			at.Sub(t.begin).Seconds(), how.took.Round(time.Millisecond), s.line(), s.body, why, how.verdict, how.reason, how.text))
	}
}

// sum adds up the classes.
func (t *tally) sum() count {
	var all count
	for _, c := range t.classes {
		all.Sent += c.Sent
		all.OK += c.OK
		all.Cut += c.Cut
		all.Broken += c.Broken
		all.Slowest = max(all.Slowest, c.Slowest)
	}
	return all
}
