package shed_test

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/policy/shed"
)

func Example() {
	now := time.Unix(1_000_000, 0)
	limit := shed.NewLimit(now, shed.Config{Initial: 20})
	for range 100 { // windows of a downstream that does ten at once, 50 ms each
		for {
			latency := 50 * time.Millisecond * time.Duration(max(limit.Now(), 10)) / 10
			now = now.Add(latency / time.Duration(limit.Now()))
			if limit.Done(limit.Now(), shed.Outcome{Latency: latency}) {
				limit.Step(now)
				break
			}
		}
	}
	fmt.Println("baseline", limit.Baseline(), "found from above:", limit.Now() < 20)

	var queue shed.Queue
	queue.Push(now, shed.Sheddable, time.Time{})
	queue.Push(now, shed.CriticalPlus, now.Add(30*time.Millisecond))
	queue.Push(now, shed.Critical, time.Time{})
	_, late, _ := queue.Pop(now, limit.Baseline()) // 50 ms are more than 30
	fmt.Println("late:", late)
	id, late, _ := queue.Pop(now, limit.Baseline())
	fmt.Println("then:", id, "late:", late)
	// Output:
	// baseline 50ms found from above: true
	// late: true
	// then: 2 late: false
}
