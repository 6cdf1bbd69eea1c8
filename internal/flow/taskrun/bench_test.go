package taskrun

import (
	"context"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
)

// BenchmarkTrue prints how many attempts of /bin/true there are in the time of a bare
// fork, exec and wait of it, two at once, taken by turns in bunches: by the clock, and
// by the processor time of this process and its children, which the load of the
// machine changes less.
func BenchmarkTrue(b *testing.B) {
	r, stop := benched(b)
	defer stop()
	const bunch, lanes = 20, 2
	var token atomic.Int64
	var clock, cpu [2]time.Duration
	kinds := [2]func(){
		func() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Error(err)
			}
		},
		func() { attend(b, r, flow.Spec{Token: token.Add(1), Command: []string{"/bin/true"}}) },
	}
	for b.Loop() {
		for kind, do := range kinds {
			began, used := time.Now(), processorTime(b)
			var all sync.WaitGroup
			for range lanes {
				all.Go(func() {
					for range bunch {
						do()
					}
				})
			}
			all.Wait()
			clock[kind] += time.Since(began)
			cpu[kind] += processorTime(b) - used
		}
	}
	n := float64(b.N * bunch * lanes)
	b.ReportMetric(float64(clock[0])/float64(clock[1]), "×bare")
	b.ReportMetric(float64(cpu[0])/float64(cpu[1]), "×bare-cpu")
	b.ReportMetric(float64(cpu[0].Microseconds())/n, "bare-cpu-µs")
	b.ReportMetric(float64(cpu[1].Microseconds())/n, "attempt-cpu-µs")
}

// processorTime is what this process and its children that have ended have used.
func processorTime(b *testing.B) (sum time.Duration) {
	b.Helper()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var used syscall.Rusage
		if err := syscall.Getrusage(who, &used); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	return sum
}

// BenchmarkFunction is an attempt of a function that does nothing.
func BenchmarkFunction(b *testing.B) {
	r, stop := benched(b)
	defer stop()
	var token int64
	for b.Loop() {
		token++
		attend(b, r, flow.Spec{Token: token, Func: "nothing"})
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "attempts/s")
}

func benched(b *testing.B) (*Runner, func()) {
	b.Helper()
	nothing := func(context.Context, flow.Input) ([]byte, error) { return nil, nil }
	r, err := Open(b.Context(), Config{Dir: b.TempDir(), Functions: flow.Functions{"nothing": nothing}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return r, func() {
		cancel()
		<-done
		if err := r.Close(); err != nil {
			b.Error(err)
		}
	}
}

func attend(b *testing.B, r *Runner, s flow.Spec) {
	b.Helper()
	if err := r.Start(b.Context(), s); err != nil {
		b.Error(err)
		return
	}
	if e, err := r.Wait(b.Context(), s.Token); err != nil || e.Class != bezoar.Done {
		b.Error(e, err)
	}
}
