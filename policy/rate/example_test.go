package rate_test

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/policy/rate"
)

func Example() {
	w := rate.Window{Limit: 3, Per: time.Minute}
	state := make([]int64, w.Words())
	now := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	for range 4 {
		d := w.Check(state, now.UnixNano(), 1)
		fmt.Println(d.Allowed, d.Remaining, d.Wait)
		if d.Allowed {
			w.Add(state, now.UnixNano(), 1)
		}
		now = now.Add(10 * time.Second)
	}
	// Output:
	// true 3 0s
	// true 2 0s
	// true 1 0s
	// false 0 50s
}

func ExampleBucket() {
	b := rate.Bucket{Limit: 1, Per: time.Second, Burst: 2}
	state := make([]int64, rate.BucketWords)
	now := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	for range 4 {
		d := b.Check(state, now.UnixNano(), 1)
		fmt.Println(d.Allowed, d.Remaining, d.Wait)
		if d.Allowed {
			b.Add(state, now.UnixNano(), 1)
		}
		now = now.Add(100 * time.Millisecond)
	}
	// Output:
	// true 2 0s
	// true 1 0s
	// false 0 800ms
	// false 0 700ms
}
