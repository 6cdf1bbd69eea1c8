package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

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
