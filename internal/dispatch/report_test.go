package dispatch_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// A route that only reports refuses nothing, isolates nothing and runs nothing again
// that has killed; what it would have done is counted and shown.
func TestAReportingRouteOnlyTells(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 8, dispatch.Config{}, blame.Config{})
		rule := blame.Rule{ReportOnly: true}.WithDefaults()
		reports := func(w *dispatch.Work) { w.Rule = &rule }
		for i := range 5 {
			a := r.do(9, pill, reports)
			if a.Kind != dispatch.Failed || a.Attempts != 1 || !a.Crashed {
				t.Fatalf("copy %d got %+v, want one delivery that failed", i, a)
			}
			time.Sleep(20 * time.Second) // the fleet is whole again
		}
		if r.dead() != 5 {
			t.Errorf("%d workers died, want one for each copy", r.dead())
		}
		st := r.d.Stats()
		if st.WouldRefuse == 0 || st.WouldIsolate == 0 || st.LaneRuns != 0 || st.Refused != 0 {
			t.Errorf("it counts %+v", st)
		}
		vs := r.ledger.Verdicts()
		if len(vs) != 1 || vs[0].State != bezoar.Quarantined || !vs[0].ReportOnly || vs[0].Refused != int64(st.WouldRefuse) {
			t.Errorf("it holds %+v", vs)
		}
		synctest.Wait()
	})
}
