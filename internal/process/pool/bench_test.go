package pool_test

import (
	"context"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/process/child"
	"github.com/bezoar-dev/bezoar/internal/process/pool"
)

// The same handler, which reads a document and is busy for a millisecond.
const (
	handler = `
import json, sys, time
def work(body):
    json.loads(body)
    end = time.perf_counter() + 0.001
    while time.perf_counter() < end: pass
`
	oncePython = handler + `
work(sys.stdin.buffer.read())
`
	poolPython = handler + `
for line in sys.stdin.buffer:
    message, answer = json.loads(line), {"bezoar": 1}
    if "id" in message:
        work(message["body"])
        answer["id"] = message["id"]
    print(json.dumps(answer), flush=True)
`
)

// BenchmarkPool compares a pool with a process for each message, for a handler of
// one millisecond in Python. The ratio is of the medians, one message at a time,
// and of the rates, four at a time; the runs take turns, so that both meet the
// same machine.
func BenchmarkPool(b *testing.B) {
	if _, err := exec.LookPath("python3"); err != nil {
		b.Fatalf("python3 is missing on this machine: %v", err)
	}
	body := child.Job{Stdin: []byte(`{"report": 7}`), Message: child.Message{ID: "m1", Receives: 1}}
	mark := b.Name()
	cfg := func(source, mark string) child.Config {
		return child.Config{Command: []string{"python3", "-c", source}, Mark: mark, Timeout: time.Minute}
	}
	p, err := pool.New(pool.Config{Child: cfg(poolPython, mark+"-pool"), Recycle: -1})
	if err != nil {
		b.Fatal(err)
	}
	r, err := child.New(cfg(oncePython, mark))
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = p.Run(ctx) })
	running.Go(func() { _ = r.Run(ctx) })
	defer running.Wait()
	defer cancel()

	one := func(do func(context.Context, child.Job) child.Result) time.Duration {
		began := time.Now()
		if res := do(ctx, body); res.Class != bezoar.Done {
			b.Fatalf("%+v", res)
		}
		return time.Since(began)
	}
	four := func(do func(context.Context, child.Job) child.Result, n int) time.Duration {
		began := time.Now()
		var left atomic.Int64
		left.Store(int64(n))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for left.Add(-1) >= 0 {
					if res := do(ctx, body); res.Class != bezoar.Done {
						b.Errorf("%+v", res)
						return
					}
				}
			})
		}
		wg.Wait()
		return time.Since(began) / time.Duration(n)
	}
	four(p.Do, 40) // all have started
	b.Run("one", func(b *testing.B) {
		var pooled, alone []time.Duration
		for b.Loop() {
			pooled = append(pooled, one(p.Do))
			if len(pooled)%20 == 1 {
				b.StopTimer()
				alone = append(alone, one(r.Do))
				b.StartTimer()
			}
		}
		report(b, median(pooled), median(alone))
	})
	b.Run("four", func(b *testing.B) {
		var pooled, alone []time.Duration
		for b.Loop() {
			pooled = append(pooled, four(p.Do, 200))
			b.StopTimer()
			alone = append(alone, four(r.Do, 16))
			b.StartTimer()
		}
		report(b, median(pooled), median(alone))
	})
}

func report(b *testing.B, pooled, alone time.Duration) {
	b.ReportMetric(float64(pooled.Microseconds()), "µs/message")
	b.ReportMetric(float64(alone.Microseconds()), "µs/process")
	b.ReportMetric(float64(alone)/float64(pooled), "×")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkDo is what a message costs beside its handler, which does nothing.
func BenchmarkDo(b *testing.B) {
	cfg := config(b, "normal")
	cfg.Recycle = -1
	p := start(b, cfg)
	j := child.Job{Stdin: []byte("say "), Message: child.Message{ID: "m1", Receives: 1}, Timeout: time.Minute}
	p.Do(b.Context(), j)
	b.ReportAllocs()
	for b.Loop() {
		if res := p.Do(b.Context(), j); res.Class != bezoar.Done {
			b.Fatalf("%+v", res)
		}
	}
}
