package dispatch_test

import (
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// Where this process has no descriptor for a connection, the work waits for one, and
// no worker looks worse for it.
func TestALackOfDescriptorsIsNoWorkersFault(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 3, dispatch.Config{}, blame.Config{})
		for i := range 200 {
			r.lacking = 5
			if a := r.do(byte(i), good, func(w *dispatch.Work) { w.Caller = uint64(1 + i) }); a.Kind != dispatch.Answered || a.Attempts != 1 {
				t.Fatalf("work %d got %+v", i, a)
			}
		}
		for _, st := range r.fleet.Snapshot() {
			if st.HeldOut || st.Failed > 0 || st.InFlight > 0 {
				t.Errorf("%+v", st)
			}
		}
		// Nor is it the work's.
		r.lacking = 1 << 30
		if a := r.do(1, good); a.Kind != dispatch.Unavailable || !strings.Contains(a.Reason, "too many open files") {
			t.Errorf("without end: %+v", a)
		}
	})
}

// Work that cannot be sent to any worker says nothing about them, and has no part in
// what happens to them.
func TestWorkThatNoWorkerTakesIsNobodysFault(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1, dispatch.Config{}, blame.Config{})
		for range 20 {
			if a := r.do(2, unfit); a.Kind != dispatch.Aborted || a.Attempts != 0 || a.Reason != "too large" {
				t.Fatalf("it got %+v", a)
			}
		}
		for _, st := range r.fleet.Snapshot() {
			if st.HeldOut || st.Failed > 0 || st.InFlight > 0 {
				t.Errorf("%+v", st)
			}
		}
		r.do(1, pill)
		before := r.d.Stats()
		a, after := r.do(2, good), r.d.Stats()
		if a.Kind != dispatch.Answered || after.LaneRuns != before.LaneRuns || after.Attempts != before.Attempts+1 {
			t.Errorf("after another's death it got %+v; %+v became %+v", a, before, after)
		}
	})
}
