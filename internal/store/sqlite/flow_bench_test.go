package sqlite_test

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// BenchmarkFlow measures batches that begin so many tasks and end those of the
// batch before, as a planner of tasks that do nothing writes them.
func BenchmarkFlow(b *testing.B) {
	for _, size := range []int{20, 200} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			s := open(b, sqlite.Config{Path: filepath.Join(b.TempDir(), "bezoar.db")}).Flow()
			n, err := s.Renew(b.Context(), flow.Node{Name: "n", Plans: true}, time.Hour)
			if err != nil {
				b.Fatal(err)
			}
			r := flow.Run{ID: "01jd0000000000000000000000", Flow: "f", State: flow.RunRunning, Created: time.Now(), Version: 1}
			if err := s.CreateRun(b.Context(), r, nil); err != nil {
				b.Fatal(err)
			}
			taken, err := s.Take(b.Context(), n, 1)
			if err != nil || len(taken) != 1 {
				b.Fatalf("took %d, %v", len(taken), err)
			}
			hold := flow.Hold{Node: n.Name, Epoch: n.Epoch, Runs: map[string]int64{r.ID: taken[0].Epoch}}
			var running []flow.Attempt
			before := processor(b)
			b.ResetTimer()
			for i := range b.N {
				now := time.Now()
				var step flow.Batch
				for _, a := range running {
					a.State, a.Started, a.Ended = flow.AttemptEnded, now, now
					a.Ending = flow.Ending{Class: bezoar.Done, Elapsed: time.Microsecond}
					step.End = append(step.End, a)
					step.Instances = append(step.Instances, flow.Instance{Run: r.ID, Task: a.Task, Index: a.Index, State: task.Success, Since: now, First: now, History: task.History{Attempts: 1}})
				}
				for k := range size {
					index := i*size + k
					step.Begin = append(step.Begin, flow.Attempt{Run: r.ID, Task: "work", Index: index, N: 1, Node: "n", Intended: now})
					step.Instances = append(step.Instances, flow.Instance{Run: r.ID, Task: "work", Index: index, State: task.Running, Since: now, First: now, History: task.History{Attempts: 1}})
				}
				done, err := s.Apply(b.Context(), hold, step)
				if err != nil {
					b.Fatal(err)
				}
				running = done.Begun
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "tasks/s")
			b.ReportMetric(float64((processor(b)-before).Microseconds())/float64(b.N*size), "cpu-µs/task")
		})
	}
}

// processor is the processor time of this process.
func processor(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
