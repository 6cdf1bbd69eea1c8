// Gateway measures what proxying one request costs: the user and system time of
// the proxy's processes per request, with one core for each proxy, keep-alive
// on both sides and 64 callers. It compares nginx, HAProxy, Go's stock
// ReverseProxy and Bezoar with everything on, in rounds that take turns, so that
// what disturbs the machine disturbs all.
//
//	go run -C bench ./gateway
//
// It needs nginx, haproxy and wrk, which scripts/peers installs, and Linux.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Config says what to measure.
type Config struct {
	Proxies  []string      // in this order
	Cases    []Case        // every proxy does each
	Rounds   int           // of which the median counts; 1 to 100
	Length   time.Duration // of one measurement; 1 s to 1 min
	Distinct int           // different requests sent in turn; 1 to 100,000
	Bezoar   string        // the binary; "" builds it
}

// Validate joins every fault.
func (c Config) Validate() error {
	var errs []error
	for _, p := range c.Proxies {
		if !slices.Contains(proxies(), p) {
			errs = append(errs, fmt.Errorf("proxies: %q is unknown, want some of %s", p, strings.Join(proxies(), ",")))
		}
	}
	if len(c.Proxies) == 0 {
		errs = append(errs, errors.New("proxies: want at least one"))
	}
	if len(c.Cases) == 0 {
		errs = append(errs, errors.New("cases: want at least one"))
	}
	if c.Rounds < 1 || c.Rounds > 100 {
		errs = append(errs, fmt.Errorf("rounds: %d, want 1 to 100", c.Rounds))
	}
	if c.Length < time.Second || c.Length > time.Minute || c.Length%time.Second != 0 {
		errs = append(errs, fmt.Errorf("length: %v, want whole seconds from 1s to 1m", c.Length))
	}
	if c.Distinct < 1 || c.Distinct > 100_000 {
		errs = append(errs, fmt.Errorf("distinct: %d, want 1 to 100000", c.Distinct))
	}
	return errors.Join(errs...)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("gateway", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var cfg Config
	flags.StringVar(&cfg.Bezoar, "bezoar", "", "the bezoar `binary`; built from the checkout by default")
	flags.IntVar(&cfg.Rounds, "rounds", 5, "rounds of which the median counts")
	flags.DurationVar(&cfg.Length, "length", 3*time.Second, "of one measurement")
	flags.IntVar(&cfg.Distinct, "distinct", 4096, "different requests, sent in turn")
	names := flags.String("proxies", strings.Join(proxies(), ","), "comma-separated")
	kinds := flags.String("cases", "get,post-1k", "comma-separated, some of "+caseNames())
	asJSON := flags.Bool("json", false, "print one JSON document")
	goal := flags.Float64("goal", 0, "exit with 1 when Bezoar takes more than this many times nginx's CPU; 0 never does")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	cfg.Proxies = strings.Split(*names, ",")
	var err error
	if cfg.Cases, err = parseCases(*kinds); err == nil {
		err = cfg.Validate()
	}
	if err != nil {
		fmt.Fprintln(stderr, "gateway:", err)
		return 2
	}
	report, err := Measure(ctx, cfg, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "gateway:", err)
		return 1
	}
	write := report.WriteTable
	if *asJSON {
		write = report.WriteJSON
	}
	if err := write(stdout); err != nil {
		fmt.Fprintln(stderr, "gateway: write the report:", err)
		return 1
	}
	if *goal > 0 && !report.Within(*goal) {
		fmt.Fprintf(stderr, "gateway: Bezoar takes more than %g times nginx's CPU\n", *goal)
		return 1
	}
	return 0
}
