package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/demo/traffic"
)

// A Report is what both halves came to.
type Report struct {
	Without Half `json:"without"`
	With    Half `json:"with"`
}

// A Half is one half of the comparison in numbers.
type Half struct {
	Workers   int   `json:"workers"`
	PillsSent int64 `json:"pills_sent"`
	// WorkersLost counts the processes that died or had to be killed, none of
	// them for a restart or a stop that somebody asked for.
	WorkersLost int   `json:"workers_lost"`
	GoodSent    int64 `json:"good_sent"`
	GoodOK      int64 `json:"good_ok"` // answered 200 with the right body
	// InnocentsRefused counts good requests that were turned away: answered
	// 502, 503 or 504 by what stands before the fleet, for whatever reason.
	InnocentsRefused int64 `json:"innocents_refused"`
	// ContainedMS is the time from the first pill to the last harm it did: a
	// worker lost, or a good request sent that was not answered right. It is 0
	// when there was none, and null when there was still harm in the last
	// third of the time in which pills were sent.
	ContainedMS *int64  `json:"contained_ms"`
	P50MS       float64 `json:"p50_ms"` // of the good requests that were answered right
	P99MS       float64 `json:"p99_ms"`
}

// newHalf draws the balance of a half whose sending ended at end.
func newHalf(workers int, t *traffic.Tally, lost int, lastLost, end time.Time) Half {
	c := t.Counts()
	return Half{
		Workers: workers, PillsSent: c.PillsSent, WorkersLost: lost,
		GoodSent: c.GoodSent, GoodOK: c.GoodOK, InnocentsRefused: c.GoodRefused,
		ContainedMS: contained(t.FirstPill(), lastLost, t.LastHarm(), end),
		P50MS:       milliseconds(c.P50), P99MS: milliseconds(c.P99),
	}
}

func contained(first, lastLost, lastHarm, end time.Time) *int64 {
	if first.IsZero() {
		return nil // nothing was there to contain
	}
	harm := lastLost
	if lastHarm.After(harm) {
		harm = lastHarm
	}
	if harm.Before(first) {
		harm = first
	}
	if harm.After(end.Add(-end.Sub(first) / 3)) {
		return nil
	}
	ms := harm.Sub(first).Milliseconds()
	return &ms
}

func milliseconds(d time.Duration) float64 {
	return math.Round(float64(d.Microseconds())/10) / 100
}

func (r Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteTable writes the report for people.
func (r Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	row := func(name string, text func(Half) string) {
		fmt.Fprintf(&b, "  %-26s %16s %16s\n", name, text(r.Without), text(r.With))
	}
	count := func(n func(Half) int64) func(Half) string {
		return func(h Half) string { return fmt.Sprintf("%d", n(h)) }
	}
	fmt.Fprintf(&b, "  %-26s %16s %16s\n", "", "without", "with Bezoar")
	row("workers", count(func(h Half) int64 { return int64(h.Workers) }))
	row("pills sent", count(func(h Half) int64 { return h.PillsSent }))
	row("workers lost", count(func(h Half) int64 { return int64(h.WorkersLost) }))
	row("good requests sent", count(func(h Half) int64 { return h.GoodSent }))
	row("good requests served", func(h Half) string { return percent(h.GoodOK, h.GoodSent) })
	row("good requests refused", count(func(h Half) int64 { return h.InnocentsRefused }))
	row("p50", func(h Half) string { return inMS(h.P50MS) })
	row("p99", func(h Half) string { return inMS(h.P99MS) })
	row("time to contain", func(h Half) string {
		if h.ContainedMS == nil {
			return "never"
		}
		return fmt.Sprintf("%.2f s", float64(*h.ContainedMS)/1000)
	})
	fmt.Fprintf(&b, "\n  %s\n", r.summary())
	_, err := io.WriteString(w, b.String())
	return err
}

// summary is the one sentence to take home.
func (r Report) summary() string {
	return fmt.Sprintf("Without a defence %s cost %s, and %s of the good requests were served.\n  With Bezoar they cost %s, and %s.",
		plural(r.Without.PillsSent, "pill"), plural(int64(r.Without.WorkersLost), "worker"), percent(r.Without.GoodOK, r.Without.GoodSent),
		plural(int64(r.With.WorkersLost), "worker"), percent(r.With.GoodOK, r.With.GoodSent))
}

func plural(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// percent says 100 only when it is.
func percent(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	if part == whole {
		return "100 %"
	}
	return fmt.Sprintf("%.2f %%", min(99.99, 100*float64(part)/float64(whole)))
}

func inMS(ms float64) string {
	if ms == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f ms", ms)
}
