package circuit_test

import (
	"context"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

// One process guards one downstream. With a Store, and with Run, all nodes would.
func Example() {
	ctx := context.Background()
	circuits, err := circuit.New(circuit.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := circuits.Breaker("search/items", breaker.Config{Consecutive: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	call := func(fail, first bool) {
		ticket, d := b.Allow(ctx, time.Now())
		if !d.Allowed {
			fmt.Println("refused:", d.Reason)
			return
		}
		b.Done(time.Now(), ticket, breaker.Result{Failed: fail, Ignored: fail && !first})
	}
	for range 10 {
		call(true, false) // the same request again and again
	}
	for range 4 {
		call(true, true)
	}
	if err := circuits.Force(ctx, "search/items", breaker.Closed, time.Now().Add(time.Hour), "ann"); err != nil {
		fmt.Println(err)
	}
	for _, s := range circuits.List() {
		fmt.Println(s.Name, s.State, "by", s.Forced.By, "- before:", s.Reason)
	}
	// Output:
	// refused: the circuit is open: 3 calls in a row failed, the limit is 3
	// search/items closed by ann - before: 3 calls in a row failed, the limit is 3
}
