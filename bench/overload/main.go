package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/rig"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Config says what to measure.
type Config struct {
	Loads   []float64     // times the capacity; above 0, to 20 each
	Warm    time.Duration // of each row, not counted
	Length  time.Duration // of each row, counted; 1 s to 10 min
	Cost    time.Duration // of each measurement of CPU time; 100 ms to 10 min
	Workers int           // requests that the server does at once; 1 to 256
	Service time.Duration // how long one takes; 1 ms to 10 s
	SVG     string        // the file to draw into; "": none
}

// Validate joins every fault.
func (c Config) Validate() error {
	var errs faults.List
	errs.If(len(c.Loads) == 0, "loads: none")
	for _, load := range c.Loads {
		errs.If(!(load > 0 && load <= 20), "loads: %g, want above 0, to 20", load)
	}
	errs.If(c.Warm < 0 || c.Warm > time.Minute, "warm: %v, want 0 to 1m", c.Warm)
	errs.If(c.Length < time.Second || c.Length > 10*time.Minute, "length: %v, want 1s to 10m", c.Length)
	errs.If(c.Cost < 100*time.Millisecond || c.Cost > 10*time.Minute, "cost: %v, want 100ms to 10m", c.Cost)
	errs.If(c.Workers < 1 || c.Workers > 256, "workers: %d, want 1 to 256", c.Workers)
	errs.If(c.Service < time.Millisecond || c.Service > 10*time.Second, "service: %v, want 1ms to 10s", c.Service)
	return errors.Join(errs...)
}

func main() {
	rig.Main(func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		return run(ctx, args, os.Stdin, stdout, stderr)
	})
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := rig.Flags("overload", stderr)
	var cfg Config
	loads := flags.String("loads", "0.5,0.8,1,1.5,2,3,5,7,10", "comma-separated, times the capacity")
	flags.DurationVar(&cfg.Warm, "warm", 5*time.Second, "of each row, not counted")
	flags.DurationVar(&cfg.Length, "length", 10*time.Second, "of each row, counted")
	flags.DurationVar(&cfg.Cost, "cost", 3*time.Second, "of each measurement of CPU time")
	flags.IntVar(&cfg.Workers, "workers", 16, "requests that the server does at once")
	flags.DurationVar(&cfg.Service, "service", 100*time.Millisecond, "how long the server takes for one")
	flags.StringVar(&cfg.SVG, "svg", "", "the `file` to draw the curves into")
	serve := flags.String("serve", "", "be the server: bare, pool or full")
	report, code := rig.Run(flags, args, stdout, func() (err error) {
		if cfg.Loads, err = parseLoads(*loads); err != nil {
			return err
		}
		return cfg.Validate()
	}, func() (*Report, error) {
		if *serve != "" {
			return nil, Serve(ctx, cfg, *serve, stdin, stdout)
		}
		return Measure(ctx, cfg, stderr)
	})
	if report == nil || cfg.SVG == "" {
		return code
	}
	if err := os.WriteFile(cfg.SVG, report.SVG(), 0o644); err != nil {
		fmt.Fprintln(stderr, "overload: draw:", err)
		return 1
	}
	return code
}

func parseLoads(text string) ([]float64, error) {
	var loads []float64
	for field := range strings.SplitSeq(text, ",") {
		load, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return nil, fmt.Errorf("loads: %w", err)
		}
		loads = append(loads, load)
	}
	return loads, nil
}
