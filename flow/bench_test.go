package flow_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
)

// layered is a DAG of width × depth tasks, each of which needs two of the layer
// above.
func layered(width, depth int) flow.Definition {
	d := flow.Definition{Name: "layers"}
	for level := range depth {
		for k := range width {
			t := flow.Task{Name: fmt.Sprintf("t%d-%d", level, k), Func: "fine"}
			if level > 0 {
				t.Needs = []string{fmt.Sprintf("t%d-%d", level-1, k), fmt.Sprintf("t%d-%d", level-1, (k+1)%width)}
			}
			d.Tasks = append(d.Tasks, t)
		}
	}
	return d
}

// BenchmarkNoOps runs Go functions that do nothing; b.N are tasks.
func BenchmarkNoOps(b *testing.B) {
	db, err := memory.Open(memory.Config{})
	if err != nil {
		b.Fatal(err)
	}
	e, err := flow.New(flow.Config{Store: db.Flow(), Node: "n1", Slots: 64, Functions: flow.Functions{"fine": fine}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	const tasks = 10_000
	runs := 0
	for b.Loop() {
		run, err := e.Start(b.Context(), flow.StartRequest{Definition: layered(100, tasks/100)})
		if err != nil {
			b.Fatal(err)
		}
		for tick := time.NewTicker(time.Millisecond); ; <-tick.C {
			is, err := db.Flow().Run(b.Context(), run.ID)
			if err != nil {
				b.Fatal(err)
			}
			if is.State.Over() {
				break
			}
		}
		runs++
	}
	b.ReportMetric(float64(runs*tasks)/b.Elapsed().Seconds(), "tasks/s")
	cancel()
	<-done
}
