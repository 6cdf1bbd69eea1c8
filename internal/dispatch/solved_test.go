package dispatch

import (
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/policy/lane"
)

// Who was suspected of a death in company need not run alone, to decide, once the
// killer has been found: that takes the lane's worker for seconds. What it died with
// later does not matter, as long as others are likelier there.
func TestWhoIsCoveredByAFoundKillerNeedNotDecide(t *testing.T) {
	found, open := &company{found: true}, &company{}
	for _, tc := range []struct {
		name        string
		doubt, last *company
		must        bool
		decides     bool
	}{
		{"its killer is found", found, found, false, false},
		{"it has died with others since, who are likelier", found, open, false, false},
		{"its killer is not found", open, open, false, true},
		{"only another one is", open, found, false, true},
		{"it was never in company", nil, nil, false, true},
		{"it runs alone for more than that", found, found, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var q laneQueue
			q.init()
			now := time.Now()
			e := &entry{Entry: lane.Entry{Single: true, Since: now}, clean: true, group: tc.last, doubt: tc.doubt, must: tc.must}
			q.entries = []*entry{e, {Entry: lane.Entry{Since: now.Add(time.Second)}}}
			if _, exclusive, _ := q.next(now, lane.Running{}, 1); e.clean != tc.decides || e.Single != tc.decides || !exclusive {
				t.Errorf("decides %v, alone %v, exclusive %v; want %v", e.clean, e.Single, exclusive, tc.decides)
			}
		})
	}
}
