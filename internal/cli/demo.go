package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/bezoar-dev/bezoar/internal/demo"
	"github.com/bezoar-dev/bezoar/internal/demo/traffic"
)

type demoCmd struct {
	Requests demoRequestsCmd `cmd:"" default:"withargs" help:"Show real workers and a request that kills them (default)."`
	Outbox   demoOutboxCmd   `cmd:"" help:"Show what crashes do to orders and their events, with an outbox and without one."`
}

type demoRequestsCmd struct {
	Seconds float64 `default:"10" placeholder:"N" help:"Length of each half (default ${default})."`
	Workers int     `default:"8" placeholder:"N" help:"Size of the fleet (default ${default})."`
	Pill    string  `default:"crash" enum:"crash,hang,oom,unique,burst" placeholder:"KIND" help:"What kills workers: ${enum} (default ${default})."`
	Rate    int     `placeholder:"N" help:"Good requests per second (default 120)."`
}

// Run shows the demonstration.
func (c *demoRequestsCmd) Run(s *session) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program, which is also the sample worker: %w", err)
	}
	switch {
	case c.Seconds < 2 || c.Seconds > 600:
		return exitf(exitUsage, "--seconds is %g, want 2 to 600", c.Seconds)
	case c.Workers < 2 || c.Workers > 64:
		return exitf(exitUsage, "--workers is %d, want 2 to 64", c.Workers)
	}
	ctx, _, stop := s.heed(0)
	defer stop()
	return s.Engine.Demo(ctx, demo.Config{
		Command: []string{self, "sample-worker"},
		Pill:    traffic.Pill(c.Pill),
		Length:  time.Duration(c.Seconds * float64(time.Second)),
		Workers: c.Workers,
		Rate:    c.Rate,
		JSON:    s.json,
		Out:     s.Stdout,
		Err:     s.Stderr,
	})
}

type sampleWorkerCmd struct{}

// Run serves until its supervisor ends it.
func (sampleWorkerCmd) Run(s *session) error { return s.Engine.SampleWorker(s) }
