package overload_test

import (
	"context"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/shed"
)

func Example() {
	pool, err := overload.New(overload.Config{Name: "search", Limit: shed.Config{Fixed: 1}, Queue: overload.Off})
	if err != nil {
		fmt.Println(err)
		return
	}
	handle := func(inside func()) {
		pass, refusal := pool.Enter(context.Background(), overload.Request{Priority: shed.Sheddable})
		if refusal != nil { // a 503 with Retry-After
			fmt.Println(refusal.Rule, refusal.Priority, refusal.InFlight, "of", refusal.Limit)
			return
		}
		began := time.Now()
		defer func() { pool.Leave(pass, shed.Outcome{Latency: time.Since(began)}) }()
		inside()
	}
	handle(func() {
		fmt.Println("the first is in, pressure", pool.Pressure())
		handle(func() { fmt.Println("the second too") })
	})
	handle(func() { fmt.Println("so is the next") })
	// Output:
	// the first is in, pressure 1
	// concurrency sheddable 1 of 1
	// so is the next
}
