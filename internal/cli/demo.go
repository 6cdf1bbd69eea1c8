package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

type demoCmd struct {
	Seconds float64 `default:"10" placeholder:"N" help:"Length of each half (default ${default})."`
	Workers int     `default:"8" placeholder:"N" help:"Size of the fleet (default ${default})."`
	Pill    string  `default:"crash" enum:"crash,hang,oom,unique,burst" placeholder:"KIND" help:"What kills workers: ${enum} (default ${default})."`
	Rate    int     `placeholder:"N" help:"Good requests per second (default 120)."`
	Serve   bool    `help:"Keep running and serve a page that shows it."`
	Admin   string  `default:"127.0.0.1:7070" placeholder:"ADDR" help:"Where --serve serves the page (default ${default})."`
}

// Run shows the demonstration.
func (c *demoCmd) Run(s *session) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program, which is also the sample worker: %w", err)
	}
	if c.Seconds == 0 || c.Workers == 0 {
		return exitf(exitUsage, "--seconds and --workers must not be 0")
	}
	ctx, _, stop := s.heed(0)
	defer stop()
	err = s.Engine.Demo(ctx, Demo{
		Command: []string{self, "sample-worker"},
		Pill:    c.Pill,
		Length:  time.Duration(c.Seconds * float64(time.Second)),
		Workers: c.Workers,
		Rate:    c.Rate,
		JSON:    s.json,
		Serve:   c.Serve,
		Admin:   c.Admin,
		Stdout:  s.Stdout,
		Stderr:  s.Stderr,
		Width:   s.out.width,
		Color:   s.out.color,
	})
	if c.Serve && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // it was asked to stop
	}
	return err
}

type sampleWorkerCmd struct{}

// Run serves until its supervisor ends it.
func (sampleWorkerCmd) Run(s *session) error { return s.Engine.SampleWorker(s) }
