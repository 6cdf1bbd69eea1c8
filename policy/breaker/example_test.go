package breaker_test

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/policy/breaker"
)

func Example() {
	now := time.Unix(1_000_000, 0)
	b := breaker.Breaker{Config: breaker.Config{Consecutive: 3, Probes: 1}}
	for range 3 {
		ticket, _ := b.Allow(now)
		b.Done(now, ticket, breaker.Result{Failed: true}, 0)
	}
	_, d := b.Allow(now)
	fmt.Println(d.Allowed, d.RetryAfter, d.Reason)

	now = now.Add(5 * time.Second)
	ticket, d := b.Allow(now)
	fmt.Println(d.Allowed, d.Probe)
	b.Done(now, ticket, breaker.Result{}, 0)
	fmt.Println(b.State(now))
	// Output:
	// false 5s the circuit is open: 3 calls in a row failed, the limit is 3
	// true true
	// closed
}
