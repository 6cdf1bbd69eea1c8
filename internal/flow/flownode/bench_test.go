package flownode_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
)

// BenchmarkFunctions measures tasks a second that do nothing, in one run over SQLite.
func BenchmarkFunctions(b *testing.B) {
	for _, size := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("tasks=%d", size), func(b *testing.B) {
			db, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "flow.db")})
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			nothing := func(context.Context, flow.Input) ([]byte, error) { return nil, nil }
			e, err := flow.New(flow.Config{Store: db.Flow(), Functions: flow.Functions{"nothing": nothing}, Node: "n", Slots: 256})
			if err != nil {
				b.Fatal(err)
			}
			ctx, stop := context.WithCancel(b.Context())
			ended := make(chan error, 1)
			go func() { ended <- e.Run(ctx) }()
			d := flow.Definition{Name: "wide"}
			for i := range size {
				d.Tasks = append(d.Tasks, flow.Task{Name: fmt.Sprintf("t%d", i), Func: "nothing"})
			}
			before := processor(b)
			b.ResetTimer()
			for range b.N {
				r, err := e.Start(ctx, flow.StartRequest{Definition: d})
				if err != nil {
					b.Fatal(err)
				}
				if r := wait(b, db.Flow(), r.ID); r.State != flow.RunSuccess {
					b.Fatalf("the run is %s: %s", r.State, r.Why)
				}
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "tasks/s")
			b.ReportMetric(float64((processor(b)-before).Microseconds())/float64(b.N*size), "cpu-µs/task")
			stop()
			<-ended
		})
	}
}

// BenchmarkPlan measures how long it takes a node to take a run of 10,000 tasks in a
// thousand chains, and to begin its first task, and what each waiting task holds of
// memory.
func BenchmarkPlan(b *testing.B) {
	const chains, length = 1000, 10
	d := flow.Definition{Name: "chains"}
	for i := range chains {
		for k := range length {
			t := flow.Task{Name: fmt.Sprintf("t%d-%d", i, k), Func: "first"}
			if k > 0 {
				t.Needs = []string{fmt.Sprintf("t%d-%d", i, k-1)}
			}
			d.Tasks = append(d.Tasks, t)
		}
	}
	for range b.N {
		b.StopTimer()
		db, err := memory.Open(memory.Config{})
		if err != nil {
			b.Fatal(err)
		}
		began, hold := make(chan struct{}, 1), make(chan struct{})
		first := func(ctx context.Context, _ flow.Input) ([]byte, error) {
			select {
			case began <- struct{}{}:
			default:
			}
			<-hold
			return nil, nil
		}
		e, err := flow.New(flow.Config{Store: db.Flow(), Functions: flow.Functions{"first": first}, Node: "n", Slots: 1})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := e.Start(b.Context(), flow.StartRequest{Definition: d}); err != nil {
			b.Fatal(err)
		}
		ctx, stop := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		was := heap()
		b.StartTimer()
		go func() { ended <- e.Run(ctx) }()
		<-began
		b.StopTimer()
		b.ReportMetric(float64(heap()-was)/(chains*length), "B/waiting-task")
		stop()
		close(hold)
		<-ended
		b.StartTimer()
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // it is far below
}

// processor is the processor time of this process.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// wait waits for the end of a run.
func wait(t testing.TB, s flow.Store, id string) flow.Run {
	t.Helper()
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		r, err := flow.Brief(t.Context(), s, id)
		if err != nil {
			t.Fatal(err)
		}
		if r.State != flow.RunRunning {
			tick.Stop()
			return r
		}
		<-tick.C
	}
}
