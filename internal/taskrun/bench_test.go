package taskrun

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
)

// BenchmarkTrue prints how many attempts of /bin/true there are in the time of a
// bare fork, exec and wait of it, one after another, taken by turns in bunches.
func BenchmarkTrue(b *testing.B) {
	r, stop := benched(b)
	defer stop()
	const bunch = 20
	var bare, isolated time.Duration
	var token int64
	for b.Loop() {
		began := time.Now()
		for range bunch {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
		between := time.Now()
		for range bunch {
			token++
			attend(b, r, flow.Spec{Token: token, Command: []string{"/bin/true"}})
		}
		bare, isolated = bare+between.Sub(began), isolated+time.Since(between)
	}
	n := float64(b.N * bunch)
	b.ReportMetric(float64(bare)/float64(isolated), "×bare")
	b.ReportMetric(float64(bare.Microseconds())/n, "bare-µs")
	b.ReportMetric(float64(isolated.Microseconds())/n, "attempt-µs")
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
		b.Fatal(err)
	}
	if e, err := r.Wait(b.Context(), s.Token); err != nil || e.Class != bezoar.Done {
		b.Fatal(e, err)
	}
}
