package queue_test

import (
	"context"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
	"github.com/bezoar-dev/bezoar/queue"
)

func Example() {
	ctx := context.Background()
	db, err := memory.Open(memory.Config{})
	if err != nil {
		panic(err)
	}
	e, err := queue.New(queue.Config{}, db.Queue()) // go e.Run(ctx) does the upkeep
	if err != nil {
		panic(err)
	}
	settings := queue.DefaultSettings()
	if _, err := e.CreateQueue(ctx, "reports-dead", settings, nil); err != nil {
		panic(err)
	}
	settings.DeadLetter = queue.DeadLetter{Queue: "reports-dead", MaxReceives: 5}
	if _, err := e.CreateQueue(ctx, "reports", settings, nil); err != nil {
		panic(err)
	}

	if _, err := e.Send(ctx, "reports", queue.SendInput{Body: []byte("1/0")}); err != nil {
		panic(err)
	}
	messages, err := e.Receive(ctx, "reports", queue.ReceiveInput{Max: 10, Wait: new(20 * time.Second)})
	if err != nil {
		panic(err)
	}
	for _, m := range messages {
		// Done: e.Delete(ctx, "reports", m.Receipt). Not to be done at all:
		err := e.Reject(ctx, "reports", m.Receipt, queue.Outcome{Class: bezoar.Invalid, Reason: "division by zero"})
		if err != nil {
			panic(err)
		}
	}
	dead, err := e.Peek(ctx, "reports-dead", 0, 10)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s from %s: %s\n", dead[0].Body, dead[0].Letter.Origin, dead[0].Letter.Reason)
	// Output: 1/0 from reports: division by zero
}
