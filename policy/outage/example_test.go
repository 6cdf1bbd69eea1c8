package outage_test

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/outage"
)

func Example() {
	var g outage.Guard
	now := time.Unix(1_000_000, 0)
	for n := byte(1); n <= 5; n++ {
		payload := bezoar.Fingerprint{n}
		if trip := g.Failed(now, "db.go:42 connection refused", payload, 0); trip != nil {
			fmt.Println(trip.Why)
		}
	}
	now = now.Add(30 * time.Second)
	generation, ok := g.Canary(now)
	fmt.Println("a canary:", ok)
	g.Returned(now, generation, outage.Worked, "")
	_, paused := g.Paused()
	fmt.Println("paused:", paused)
	// Output:
	// 5 of 5 distinct payloads that ended within 1m0s failed alike (100 %); an outage begins at 5, the larger of 5 and 20 % of 5
	// a canary: true
	// paused: false
}
