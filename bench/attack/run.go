package main

import (
	"strings"

	"github.com/bezoar-dev/bezoar/bench/internal/openloop"
)

// A Run is what one run of one row came to.
type Run struct {
	Proxy   string            `json:"proxy"`
	Classes map[string]*count `json:"innocents"` // by what they ask for
	// The innocents of all classes together.
	count
	GoodPercent float64        `json:"good_percent"`
	GetPercent  float64        `json:"get_percent"`
	PostPercent float64        `json:"post_percent"`
	Refused     map[string]int `json:"innocents_refused"` // by status and rule
	Failed      map[string]int `json:"innocents_failed"`  // by what they got
	SlowestTo   string         `json:"slowest"`
	P50         float64        `json:"p50_ms"` // of innocents that were answered 2xx
	P99         float64        `json:"p99_ms"`

	Pills     int            `json:"pills"`
	PillsSaid map[string]int `json:"pills_answered"`
	LastPills map[string]int `json:"pills_answered_late"` // in the last third

	Started    int `json:"workers_started"`
	Lost       int `json:"workers_lost"`         // lives that ended unasked, as the workers tell
	LostByPill int `json:"workers_lost_by_pill"` // those that said so
	LostByAPI  int `json:"workers_lost_by_api"`  // what Bezoar counts; -1 where it does not

	Kills int `json:"bezoar_kills,omitempty"` // of Bezoar itself

	Evidence *Findings `json:"evidence,omitempty"` // nil for others
	Faults   []string  `json:"faults,omitempty"`   // of what is particular to the row
	LateMS   float64   `json:"rig_late_ms"`        // how late the rig sent at most
	Met      bool      `json:"met"`
	Missed   []string  `json:"missed,omitempty"`
	notes    []string
}

// newRun sums up what the callers saw.
func newRun(proxy string, t *tally) *Run {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &Run{
		Proxy: proxy, Classes: t.classes, count: t.sum(), Refused: t.refused, Failed: t.failed,
		SlowestTo: t.slowTo,
		P50:       openloop.MS(openloop.Quantile(t.times, 0.50)), P99: openloop.MS(openloop.Quantile(t.times, 0.99)),
		Pills: t.pills, PillsSaid: t.pillSaid, LastPills: t.lastSaid,
		LostByAPI: -1, LateMS: openloop.MS(t.lateMax), notes: t.notes,
	}
	r.GoodPercent = openloop.Percent(r.OK, r.Sent)
	post := t.classes["post"]
	if post == nil {
		post = new(count)
	}
	r.PostPercent = openloop.Percent(post.OK, post.Sent)
	r.GetPercent = openloop.Percent(r.OK-post.OK, r.Sent-post.Sent)
	return r
}

// good is the percentage of a class of innocents, of all for "", that were
// answered, as a bound of so many percent counts it: 100 is of those that nobody
// was forbidden to send again.
func (r *Run) good(class string, bound float64) float64 {
	c := &r.count
	if class != "" {
		c = r.Classes[class]
	}
	switch {
	case c == nil:
		return 0
	case bound == 100:
		return openloop.Percent(c.OK, c.Sent-c.Cut)
	}
	return openloop.Percent(c.OK, c.Sent)
}

// wrong counts the wrong convictions.
func (r *Run) wrong() int {
	if r.Evidence == nil {
		return 0
	}
	return len(r.Evidence.Wrong)
}

// worse reports whether r is the worse of two runs: it missed its bound, convicted
// more of the wrong ones, answered fewer, lost more workers, or was slower.
func (r *Run) worse(than *Run) bool {
	for _, d := range []float64{
		float64(len(r.Missed) - len(than.Missed)),
		float64(r.wrong() - than.wrong()),
		than.GoodPercent - r.GoodPercent,
		float64(r.Lost - than.Lost),
		r.Slowest - than.Slowest,
	} {
		if d != 0 {
			return d > 0
		}
	}
	return false
}

// worst returns the worst of some runs.
func worst(runs []*Run) *Run {
	w := runs[0]
	for _, r := range runs[1:] {
		if r.worse(w) {
			w = r
		}
	}
	return w
}

// judge holds the run against the bound.
func (r *Run) judge(b bound) {
	r.Missed = b.missed(r)
	r.Met = len(r.Missed) == 0
}

// explain returns lines about what went wrong.
func (r *Run) explain() []string {
	out := r.notes
	if r.Evidence != nil {
		for _, w := range r.Evidence.Wrong {
			out = append(out, "convicted wrongly: "+w)
		}
	}
	return append(out, "slowest: "+strings.TrimSpace(r.SlowestTo))
}
