package blame_test

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// The life of one poisonous request: it kills a worker in the fleet and one in
// the lane, and is refused after that.
func ExampleState() {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	state := blame.New(blame.Config{}, now)
	state.SetFleet(8)
	pill := blame.Work{Fingerprint: bezoar.Fingerprint{1}}
	where := map[blame.Action]string{blame.ToFleet: "the fleet", blame.ToLane: "the lane", blame.Refuse: "nowhere"}
	for epoch := uint64(1); ; epoch++ {
		ticket, decision := state.Admit(now, pill)
		fmt.Println("it goes to", where[decision.Action])
		if decision.Action == blame.Refuse {
			break
		}
		state.OpenEpoch(epoch)
		state.Begin(now, ticket, epoch, now.Add(time.Second), decision.Action == blame.ToLane)
		now = now.Add(10 * time.Millisecond)
		state.Crash(now, epoch, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
		finding, _ := state.Finding(ticket)
		fmt.Printf("with %.0f %% of the blame for a death; convicted: %v\n", 100*finding.Share, finding.Convicted)
		state.Close(ticket)
	}
	v, _ := state.Lookup(&pill)
	fmt.Println(v.Reason)
	// Output:
	// it goes to the fleet
	// with 100 % of the blame for a death; convicted: false
	// it goes to the lane
	// with 100 % of the blame for a death; convicted: true
	// it goes to nowhere
	// was there when 2 workers died within 10m (crash), the last time alone in the lane, on a clean worker
}

func ExampleRule() {
	fmt.Println(blame.Rule{After: 9}.Validate())
	// Output: after is 9, want 1 to 8 crashes
}
