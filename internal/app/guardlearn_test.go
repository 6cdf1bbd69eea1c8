package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What answers show of the data makes a query costly that was not, however they
// are packed; and beside what was predicted stands what the backend says.
func TestTheGuardLearnsFromAnswers(t *testing.T) {
	t.Parallel()
	e := newElastic(t)
	const strict = `, rules: "rules: [{predictor: agg_cardinality, action: reject}]"`
	text := func(more string) string { return guardSettings(e.worker(), "", "report_only: false"+more) }
	r := follow(t, text(strict))
	visitors := func() answer { // the client asks for gzip
		return r.searchFor(`{"size": 0, "query": {"match_all": {}}, "aggs": {"seen_by": {"terms": {"field": "visitor", "size": 10}}}}`, "/shop/_search", "")
	}
	if a := visitors(); a.status != 200 || !strings.Contains(a.body, `"took": 900`) {
		t.Fatalf("before anything is learned: %d %s", a.status, a.body)
	}
	r.until("the field is known, and held against the limits", func() bool { return visitors().status == 400 })
	if a := visitors(); !strings.Contains(a.body, "agg_cardinality") || !strings.Contains(a.body, `"hints_age"`) {
		t.Errorf("%s", a.body)
	}
	g := r.guard()
	if g.Learn == nil || g.Learn.Read == 0 || g.Learn.Fields != 1 || g.Learn.Learned.IsZero() || g.HintsAge == 0 {
		t.Errorf("%+v, %+v", g, g.Learn)
	}
	if s := g.Shapes[0]; s.Told == 0 || s.Backend != time.Duration(s.Told)*900*time.Millisecond || s.TimedOut != s.Told || s.Buckets != 2*float64(s.Told) || s.Excess == 0 || s.Fingerprint.IsZero() {
		t.Errorf("%+v", s)
	}
	r.reload(text(strict + ", slow: 3s")) // what was learned outlives a reload
	if a := visitors(); a.status != 400 {
		t.Errorf("after a reload: %d %s", a.status, a.body)
	}
	r.reload(text("")) // the default limit cuts nobody off for it
	if a := visitors(); a.status != 200 || a.header.Get("X-Bezoar-Guard") != "report; predictor=agg_cardinality" {
		t.Errorf("by the default limit: %d %v", a.status, a.header)
	}
	r.reload(text(strict + ", learn: no")) // and ends with learning
	if a := visitors(); a.status != 200 {
		t.Errorf("after learning was taken away: %d %s", a.status, a.body)
	}
	if g := r.guard(); g.Learn != nil || g.HintsAge != 0 {
		t.Errorf("%+v", g)
	}
	r.reload(text(strict))
	r.until("it is learned again", func() bool { return visitors().status == 400 })
}

// A file that has become invalid stays visible until it is right again.
func TestTheGuardShowsWhatItsFilesHaveWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	limits, hints := filepath.Join(dir, "limits.yaml"), filepath.Join(dir, "hints.yaml")
	put(t, limits, window(1000, "reject"))
	put(t, hints, "shop: {docs: 10}\n")
	r := guarding(t, newElastic(t).worker(), "", fmt.Sprintf("limits: %q, hints: %q", limits, hints))
	if g := r.guard(); len(g.Faults) != 0 {
		t.Errorf("%+v", g.Faults)
	}
	began := time.Now()
	put(t, limits, "rules: [{predictor: result_widow}]\n")
	r.until("the limits' fault is shown", func() bool { return len(r.guard().Faults) == 1 })
	if err := os.Remove(hints); err != nil {
		t.Fatal(err)
	}
	r.until("that of the hints, too", func() bool { return len(r.guard().Faults) == 2 })
	first := r.guard().Faults
	if f := first[0]; f.File != limits || !strings.Contains(f.Error, "result_widow") || f.Since.Before(began.Add(-time.Second)) || first[1].File != hints {
		t.Errorf("%+v", first)
	}
	put(t, limits, "rules: [{predictor: result_window, limit: -1}]\n")
	r.until("another fault is shown, since the same time", func() bool {
		for _, f := range r.guard().Faults {
			if f.File == limits {
				return f.Error != first[0].Error && f.Since.Equal(first[0].Since)
			}
		}
		return false
	})
	put(t, hints, "shop: {docs: 20}\n")
	put(t, limits, window(100, "reject"))
	r.until("nothing is wrong any more", func() bool { return len(r.guard().Faults) == 0 })
	r.searches(500, 400)
}
