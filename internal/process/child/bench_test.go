package child

import (
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// BenchmarkIsolation prints what isolating a job costs: the median of its time
// over that of a bare fork, exec and wait of the same child, taken by turns.
func BenchmarkIsolation(b *testing.B) {
	for _, c := range []struct {
		name    string
		command []string
		body    int
		edit    func(*Config)
	}{
		{"true", []string{"/bin/true"}, 0, nil},
		{"true,memory", []string{"/bin/true"}, 1 << 10, func(c *Config) { c.Memory, c.CPU, c.Timeout = 256<<20, time.Minute, time.Minute }},
		{"true,nogroups", []string{"/bin/true"}, 1 << 10, func(c *Config) { c.Pids, c.Timeout = -1, time.Minute }},
		{"python3", []string{python(b), "-S", "-c", "import sys; sys.stdin.read()"}, 1 << 10, func(c *Config) { c.Memory, c.Timeout = 256<<20, time.Minute }},
	} {
		b.Run(c.name, func(b *testing.B) {
			cfg := Config{Command: c.command, Mark: b.Name()}
			if c.edit != nil {
				c.edit(&cfg)
			}
			r, err := New(cfg)
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error)
			go func() { done <- r.Run(ctx) }()
			body := make([]byte, c.body)
			var bare, isolated []time.Duration
			for b.Loop() {
				began := time.Now()
				if err := exec.Command(c.command[0], c.command[1:]...).Run(); err != nil {
					b.Fatal(err)
				}
				between := time.Now()
				if res := r.Do(ctx, Job{Name: "bench", Stdin: body}); res.ExitCode != 0 {
					b.Fatalf("%+v", res)
				}
				bare, isolated = append(bare, between.Sub(began)), append(isolated, time.Since(between))
			}
			cancel()
			<-done
			b.ReportMetric(float64(median(isolated))/float64(median(bare)), "ratio")
			b.ReportMetric(float64(median(bare).Microseconds()), "bare-µs")
			b.ReportMetric(float64(median(isolated).Microseconds()), "isolated-µs")
		})
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// python returns the interpreter behind any shim in the path: a shim is a shell
// script, and we measure one process.
func python(b *testing.B) string {
	out, err := exec.Command("python3", "-c", "import sys; sys.stdout.write(sys.executable)").Output()
	if err != nil {
		b.Skipf("no python3: %v", err)
	}
	return string(out)
}

// BenchmarkFlood takes 50 MB of stderr from one job.
func BenchmarkFlood(b *testing.B) {
	r, err := New(Config{Command: []string{os.Args[0]}, Mark: b.Name()})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	b.SetBytes(50 << 20)
	b.ReportAllocs()
	for b.Loop() {
		r.Do(ctx, Job{Env: []string{envRole + "=flood"}, Stdout: io.Discard})
	}
	cancel()
	<-done
}
