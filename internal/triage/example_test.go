package triage_test

import (
	"context"
	"fmt"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

// A message that its worker rejects becomes a letter; a plan says what sending
// it again would do, and executing the plan does just that.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	db, err := memory.Open(memory.Config{})
	if err != nil {
		panic(err)
	}
	engine, err := queue.New(queue.Config{}, db.Queue())
	if err != nil {
		panic(err)
	}
	done := make(chan error)
	go func() { done <- engine.Run(ctx) }()

	engine.CreateQueue(ctx, "reports", queue.DefaultSettings(), nil)
	engine.Send(ctx, "reports", queue.SendInput{Body: []byte("poison")})
	m, err := engine.Receive(ctx, "reports", queue.ReceiveInput{})
	if err != nil {
		panic(err)
	}
	engine.Reject(ctx, "reports", m[0].Receipt, queue.Outcome{Class: bezoar.Invalid, Reason: "no such report"})

	service, err := triage.New(triage.Config{Queue: engine})
	if err != nil {
		panic(err)
	}
	plan, err := service.Plan(ctx, "ann", triage.Redrive, queue.Selection{Queue: "reports-dlq"}, triage.Options{Reason: "the report is there now"})
	if err != nil {
		panic(err)
	}
	fmt.Println(plan.Count, "letter:", plan.Groups[0].Reason, "→", plan.Destinations)

	tasks, err := service.Execute(ctx, "ann", plan.ID)
	if err != nil {
		panic(err)
	}
	if m, err = engine.Receive(ctx, "reports", queue.ReceiveInput{Wait: new(queue.MaxWait)}); err != nil {
		panic(err)
	}
	engine.Delete(ctx, "reports", m[0].Receipt)
	task := tasks[0]
	for !task.Over() {
		if task, err = service.Task(ctx, task.ID); err != nil {
			panic(err)
		}
	}
	fmt.Println(task.State, task.Moved)
	cancel()
	<-done
	// Output:
	// 1 letter: no such report → [reports]
	// completed 1
}
