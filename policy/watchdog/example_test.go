package watchdog_test

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/policy/watchdog"
)

// One of three workers fills its memory. It is restarted once it has done so for
// half a minute, and not again while its new life is young.
func Example() {
	start := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	fleet := watchdog.Fleet{Config: watchdog.Config{Limits: watchdog.Limits{Memory: 512 << 20}}}
	workers := []watchdog.Worker{
		{Name: "search-1", Life: 1, Up: start.Add(-time.Hour), Serving: true, Sample: watchdog.Sample{Memory: 200 << 20}},
		{Name: "search-2", Life: 2, Up: start.Add(-time.Hour), Serving: true, Sample: watchdog.Sample{Memory: 812 << 20}},
		{Name: "search-3", Life: 3, Up: start.Add(-time.Hour), Serving: true, Sample: watchdog.Sample{Memory: 250 << 20}},
	}
	said := watchdog.Idle
	for at := start; at.Before(start.Add(2 * time.Minute)); at = at.Add(5 * time.Second) {
		d := fleet.Step(at, watchdog.Scene{Workers: workers})
		if d.Action == said || d.Action == watchdog.Idle {
			continue
		}
		said = d.Action
		fmt.Printf("%s %v %s: %v\n", at.Format(time.TimeOnly), d.Action, d.Worker, d.Breach)
		if d.Action == watchdog.Wait {
			fmt.Printf("  until %s: %s\n", d.Until.Format(time.TimeOnly), d.Why)
		}
		if d.Action == watchdog.Restart { // and the new process does the same
			workers[1].Life, workers[1].Up = 4, at
			fleet.Done(at, d.Worker, true)
		}
	}
	// Output:
	// 12:00:30 restart search-2: memory is 812 MiB, above 512 MiB for 30s
	// 12:01:05 wait search-2: memory is 812 MiB, above 512 MiB for 30s
	//   until 12:04:30: the last restart did not help, so it waits longer
}
