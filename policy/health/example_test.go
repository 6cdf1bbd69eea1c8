package health_test

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/policy/health"
)

func Example() {
	now := time.Unix(1_000_000, 0)
	disk := health.Gauge{Limits: health.Limits{
		Degraded: health.Band{Upper: 0.90, Lower: 0.85},
		Failing:  health.Band{Upper: 0.97, Lower: 0.95},
	}}
	for _, used := range []float64{0.89, 0.90, 0.98, 0.96, 0.94, 0.86, 0.84} {
		fmt.Println(used, disk.Step(now, used))
	}
	// Output:
	// 0.89 ok
	// 0.9 degraded
	// 0.98 failing
	// 0.96 failing
	// 0.94 degraded
	// 0.86 degraded
	// 0.84 ok
}

func ExampleCalls() {
	now := time.Unix(1_000_000, 0)
	var calls health.Calls
	var seen health.Tally
	for range 90 {
		seen.Add(20*time.Millisecond, health.Good)
	}
	for range 10 {
		seen.Add(time.Second, health.Timeout)
	}
	calls.Add(now, &seen)
	r := calls.Step(now)
	fmt.Println(r.State, r.Calls, r.Timeouts)
	// Output: degraded 100 0.1
}
