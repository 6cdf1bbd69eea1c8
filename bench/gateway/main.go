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
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/rig"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Config says what to measure.
type Config struct {
	Proxies  []string      // in this order
	Cases    []Case        // every proxy does each
	Rounds   int           // of which the median counts; 1 to 100
	Length   time.Duration // of one measurement; 1 s to 1 min
	Distinct int           // different requests sent in turn; 1 to 100,000
	Bezoar   string        // the binary; "" builds it
	Before   string        // another one, to compare with; "" for none
}

// Validate joins every fault.
func (c Config) Validate() error {
	var errs faults.List
	errs.If(slices.Contains(c.Proxies, before) != (c.Before != ""), "before: name a binary for the proxy %q", before)
	for _, p := range c.Proxies {
		errs.If(!slices.Contains(append(proxies(), before), p), "proxies: %q is unknown, want some of %s", p, strings.Join(proxies(), ","))
	}
	errs.If(len(c.Proxies) == 0, "proxies: want at least one")
	errs.If(len(c.Cases) == 0, "cases: want at least one")
	errs.If(c.Rounds < 1 || c.Rounds > 100, "rounds: %d, want 1 to 100", c.Rounds)
	errs.If(c.Length < time.Second || c.Length > time.Minute || c.Length%time.Second != 0, "length: %v, want whole seconds from 1s to 1m", c.Length)
	errs.If(c.Distinct < 1 || c.Distinct > 100_000, "distinct: %d, want 1 to 100000", c.Distinct)
	return errors.Join(errs...)
}

func main() {
	rig.Main(run)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := rig.Flags("gateway", stderr)
	var cfg Config
	flags.StringVar(&cfg.Bezoar, "bezoar", "", "the bezoar `binary`; built from the checkout by default")
	flags.StringVar(&cfg.Before, "before", "", "another bezoar `binary`, which takes turns with the others as the row before")
	flags.IntVar(&cfg.Rounds, "rounds", 5, "rounds of which the median counts")
	flags.DurationVar(&cfg.Length, "length", 3*time.Second, "of one measurement")
	flags.IntVar(&cfg.Distinct, "distinct", 4096, "different requests, sent in turn")
	names := flags.String("proxies", strings.Join(proxies(), ","), "comma-separated")
	kinds := flags.String("cases", "get,post-1k", "comma-separated, some of "+caseNames())
	goal := flags.Float64("goal", 0, "exit with 1 when Bezoar takes more than this many times nginx's CPU; 0 never does")
	report, code := rig.Run(flags, args, stdout, func() (err error) {
		cfg.Proxies = strings.Split(*names, ",")
		if cfg.Before != "" {
			cfg.Proxies = append(cfg.Proxies, before)
		}
		if cfg.Cases, err = parseCases(*kinds); err != nil {
			return err
		}
		return cfg.Validate()
	}, func() (*Report, error) { return Measure(ctx, cfg, stderr) })
	if report != nil && *goal > 0 && !report.Within(*goal) {
		fmt.Fprintf(stderr, "gateway: Bezoar takes more than %g times nginx's CPU\n", *goal)
		return 1
	}
	return code
}
