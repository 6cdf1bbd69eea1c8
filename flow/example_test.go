package flow_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
)

func Example() {
	b := flow.Build("sums").Param("numbers", "1 2 3")
	b.Task("list").Call(func(_ context.Context, in flow.Input) ([]byte, error) {
		return []byte(strings.ReplaceAll(in.Params["numbers"], " ", "\n")), nil
	})
	b.Task("square").EachOf("list").Attempts(2).Call(func(_ context.Context, in flow.Input) ([]byte, error) {
		var n int
		if _, err := fmt.Sscan(in.Item, &n); err != nil {
			return nil, err
		}
		return fmt.Append(nil, n*n), nil
	})
	b.Task("sum").Needs("square").Call(func(_ context.Context, in flow.Input) ([]byte, error) {
		sum := 0
		for _, out := range in.Outputs["square"] {
			var n int
			if _, err := fmt.Sscan(string(out), &n); err != nil {
				return nil, err
			}
			sum += n
		}
		return fmt.Append(nil, sum), nil
	})
	d, err := b.Definition()
	if err != nil {
		fmt.Println(err)
		return
	}
	db, err := memory.Open(memory.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	engine, err := flow.New(flow.Config{Store: db.Flow(), Node: "example", Functions: b.Functions()})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- engine.Run(ctx) }()

	run, err := engine.Start(ctx, flow.StartRequest{Definition: d, Params: map[string]string{"numbers": "2 3 4"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	view, err := engine.Wait(ctx, run.ID, 10*time.Millisecond)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(view.Run.State)
	for _, i := range view.Instances {
		if i.Index >= 0 {
			fmt.Println(i.Task, i.Index, i.State, string(i.Output))
		}
	}
	stop()
	<-done
	// Output:
	// SUCCESS
	// list 0 SUCCESS 2
	// 3
	// 4
	// square 0 SUCCESS 4
	// square 1 SUCCESS 9
	// square 2 SUCCESS 16
	// sum 0 SUCCESS 29
}
