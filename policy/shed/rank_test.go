package shed_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/policy/shed"
)

var start = time.Unix(1_000_000, 0)

func TestPriorityComesBeforeCohort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		caller, other, turn := rapid.Uint64().Draw(t, "caller"), rapid.Uint64().Draw(t, "other"), rapid.Uint64().Draw(t, "turn")
		last := shed.Rank(-1)
		for tier, p := range shed.Priorities() {
			r := shed.RankOf(p, caller, turn)
			if r.Tier() != tier || r < 0 || r >= shed.Ranks {
				t.Fatalf("%v has rank %d in tier %d", p, r, r.Tier())
			}
			if r <= last {
				t.Fatalf("rank %d of %v is not after %d", r, p, last)
			}
			last = shed.RankOf(p, other, turn) // even another caller's
		}
	})
}

func TestCohortsAreUsedEvenly(t *testing.T) {
	var n [shed.Cohorts]int
	const callers = 128 * 1000
	for c := range uint64(callers) { // as weak as hashes get
		n[shed.RankOf(shed.CriticalPlus, c, 0)]++
	}
	for cohort, got := range n {
		if got < 850 || got > 1150 {
			t.Errorf("cohort %d has %d of %d callers, want about 1000", cohort, got, callers)
		}
	}
}

// One step moves one cohort of 128 to the end and everybody else one forward.
func TestTheOrderTurns(t *testing.T) {
	const turn = time.Hour
	step := turn / shed.Cohorts
	for caller := range uint64(50) {
		first := map[shed.Rank]int{}
		now := start
		before := shed.RankOf(shed.Critical, caller, shed.TurnAt(now, turn))
		for range shed.Cohorts {
			first[before]++
			now = now.Add(step)
			r := shed.RankOf(shed.Critical, caller, shed.TurnAt(now, turn))
			if want := before - 1; before%shed.Cohorts == 0 && r != before+shed.Cohorts-1 || before%shed.Cohorts != 0 && r != want {
				t.Fatalf("caller %d went from %d to %d", caller, before, r)
			}
			before = r
		}
		if len(first) != shed.Cohorts {
			t.Errorf("caller %d had %d ranks in one turn, want each of %d", caller, len(first), shed.Cohorts)
		}
	}
	if shed.TurnAt(start, turn) != shed.TurnAt(start.Add(time.Second).Truncate(step), turn) {
		t.Error("the order changed within a step")
	}
}
