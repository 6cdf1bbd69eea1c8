package flownode_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
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
			b.ResetTimer()
			for range b.N {
				r, err := e.Start(ctx, flow.StartRequest{Definition: d})
				if err != nil {
					b.Fatal(err)
				}
				wait(b, db.Flow(), r.ID)
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "tasks/s")
			stop()
			<-ended
		})
	}
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
