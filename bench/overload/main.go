package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
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
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(len(c.Loads) == 0, "loads: none")
	for _, load := range c.Loads {
		bad(!(load > 0 && load <= 20), "loads: %g, want above 0, to 20", load)
	}
	bad(c.Warm < 0 || c.Warm > time.Minute, "warm: %v, want 0 to 1m", c.Warm)
	bad(c.Length < time.Second || c.Length > 10*time.Minute, "length: %v, want 1s to 10m", c.Length)
	bad(c.Cost < 100*time.Millisecond || c.Cost > 10*time.Minute, "cost: %v, want 100ms to 10m", c.Cost)
	bad(c.Workers < 1 || c.Workers > 256, "workers: %d, want 1 to 256", c.Workers)
	bad(c.Service < time.Millisecond || c.Service > 10*time.Second, "service: %v, want 1ms to 10s", c.Service)
	return errors.Join(errs...)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("overload", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var cfg Config
	loads := flags.String("loads", "0.5,0.8,1,1.5,2,3,5,7,10", "comma-separated, times the capacity")
	flags.DurationVar(&cfg.Warm, "warm", 5*time.Second, "of each row, not counted")
	flags.DurationVar(&cfg.Length, "length", 10*time.Second, "of each row, counted")
	flags.DurationVar(&cfg.Cost, "cost", 3*time.Second, "of each measurement of CPU time")
	flags.IntVar(&cfg.Workers, "workers", 16, "requests that the server does at once")
	flags.DurationVar(&cfg.Service, "service", 100*time.Millisecond, "how long the server takes for one")
	flags.StringVar(&cfg.SVG, "svg", "", "the `file` to draw the curves into")
	asJSON := flags.Bool("json", false, "print one JSON document")
	serve := flags.String("serve", "", "be the server: bare, pool or full")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	var err error
	if cfg.Loads, err = parseLoads(*loads); err == nil {
		err = cfg.Validate()
	}
	if err != nil {
		fmt.Fprintln(stderr, "overload:", err)
		return 2
	}
	if *serve != "" {
		err = Serve(ctx, cfg, *serve, stdin, stdout)
	} else {
		err = measure(ctx, cfg, *asJSON, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, "overload:", err)
		return 1
	}
	return 0
}

// measure measures, prints and draws.
func measure(ctx context.Context, cfg Config, asJSON bool, stdout, stderr io.Writer) error {
	report, err := Measure(ctx, cfg, stderr)
	if err != nil {
		return err
	}
	write := report.WriteTable
	if asJSON {
		write = report.WriteJSON
	}
	if err := write(stdout); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if cfg.SVG == "" {
		return nil
	}
	if err := os.WriteFile(cfg.SVG, report.SVG(), 0o644); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
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
