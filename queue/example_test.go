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

// Many different messages fail alike: the queue is paused, and none of them pays
// for it.
func ExampleEngine_Release() {
	ctx := context.Background()
	db, err := memory.Open(memory.Config{})
	if err != nil {
		panic(err)
	}
	e, err := queue.New(queue.Config{}, db.Queue())
	if err != nil {
		panic(err)
	}
	if _, err := e.CreateQueue(ctx, "mails", queue.DefaultSettings(), nil); err != nil {
		panic(err)
	}
	for i := range 6 {
		if _, err := e.Send(ctx, "mails", queue.SendInput{Body: fmt.Appendf(nil, `{"mail": %d}`, i)}); err != nil {
			panic(err)
		}
	}
	messages, err := e.Receive(ctx, "mails", queue.ReceiveInput{Max: 5})
	if err != nil {
		panic(err)
	}
	for _, m := range messages {
		err := e.Release(ctx, "mails", queue.ReleaseInput{
			Receipt: m.Receipt, Outcome: &queue.Outcome{Class: bezoar.Transient, Failure: "smtp: connection refused"},
		})
		if err != nil {
			panic(err)
		}
	}
	left, err := e.Receive(ctx, "mails", queue.ReceiveInput{Max: 10})
	if err != nil {
		panic(err)
	}
	fmt.Println("received", len(left))
	for _, c := range e.Conditions(ctx) {
		fmt.Printf("%s is %s, because of %q\n", c.Queue, c.State, c.Failure)
	}
	// Output:
	// received 0
	// mails is paused, because of "smtp: connection refused"
}

// A queue may say what its messages look like.
func ExampleEngine_Send_schema() {
	ctx := context.Background()
	db, err := memory.Open(memory.Config{})
	if err != nil {
		panic(err)
	}
	e, err := queue.New(queue.Config{}, db.Queue())
	if err != nil {
		panic(err)
	}
	s := queue.DefaultSettings()
	s.Schema = `{"properties": {"pages": {"type": "array", "items": {"type": "integer"}}}}`
	if _, err := e.CreateQueue(ctx, "prints", s, nil); err != nil {
		panic(err)
	}
	_, err = e.Send(ctx, "prints", queue.SendInput{Body: []byte(`{"pages": [1, 2, "three"]}`)})
	fmt.Println(err)
	// Output: send to queue "prints": Body: type at $.pages[2]: got string, want integer: schema violated
}
