package worker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/memory"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/worker"
)

// A handler in this process, on a queue of an engine in this process.
func Example() {
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	db, err := memory.Open(memory.Config{})
	if err != nil {
		panic(err)
	}
	engine, err := queue.New(queue.Config{}, db.Queue())
	if err != nil {
		panic(err)
	}
	running := make(chan error, 1)
	engineLife, stopEngine := context.WithCancel(ctx)
	go func() { running <- engine.Run(engineLife) }()
	if _, err := engine.CreateQueue(ctx, "orders", queue.DefaultSettings(), nil); err != nil {
		panic(err)
	}
	for _, body := range []string{`{"order": 7, "price": 3}`, `{"order": 8}`} {
		if _, err := engine.Send(ctx, "orders", queue.SendInput{Body: []byte(body)}); err != nil {
			panic(err)
		}
	}

	told := 0
	w, err := worker.New(worker.Config{
		Source:      worker.Direct(engine, "orders"),
		Concurrency: 1,
		Handler: func(_ context.Context, m worker.Message) error {
			if string(m.Body) == `{"order": 8}` {
				return worker.Invalid(errors.New("there is no price"))
			}
			fmt.Printf("%s\n", m.Body)
			return nil
		},
		Observe: func(e worker.Event) {
			fmt.Println(e.Class, e.Outcome)
			if told++; told == 2 {
				stop()
			}
		},
	})
	if err != nil {
		panic(err)
	}
	if err := w.Run(ctx); err != nil {
		panic(err)
	}
	letters, err := engine.Letters(context.Background(), queue.Selection{Queue: "orders-dlq"}, 0, 0)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(letters), "letter:", letters[0].Letter.Reason)
	stopEngine()
	<-running
	// Unordered output:
	// {"order": 7, "price": 3}
	// done done
	// invalid reported
	// 1 letter: there is no price
}
