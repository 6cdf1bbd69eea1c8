// Flow compares `bezoar flow run` with `dagu start`, and the two servers, on the same graphs of tasks.
//
//	go run -C bench ./flow
//
// The binary of dagu comes from the npm registry, once, into a cache folder; -dagu names another one.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/bench/internal/peer"
	"github.com/bezoar-dev/bezoar/bench/internal/rig"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Config says what to measure.
type Config struct {
	Bezoar string // the binary; "" builds it from the checkout
	Dagu   string // the binary; "" takes it from the npm registry
	Cases  []string
	Rounds int
	Slots  int // tasks at once
	Goal   float64
}

// Validate joins every fault.
func (c Config) Validate() error {
	var errs faults.List
	for _, name := range c.Cases {
		errs.If(!slices.ContainsFunc(graphs(), func(g graph) bool { return g.name == name }), "cases: %q is none of %s", name, strings.Join(names(), ","))
	}
	errs.If(len(c.Cases) == 0, "cases: none")
	errs.If(c.Rounds < 1 || c.Rounds > 100, "rounds: %d, want 1 to 100", c.Rounds)
	errs.If(c.Slots < 1 || c.Slots > 256, "slots: %d, want 1 to 256", c.Slots)
	errs.If(c.Goal < 0, "goal: %g, want 0 or more", c.Goal)
	return errors.Join(errs...)
}

func names() (all []string) {
	for _, g := range graphs() {
		all = append(all, g.name)
	}
	return all
}

func main() { rig.Main(run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := rig.Flags("flow", stderr)
	var cfg Config
	flags.StringVar(&cfg.Bezoar, "bezoar", "", "the bezoar `binary`; built from the checkout by default")
	flags.StringVar(&cfg.Dagu, "dagu", "", "the dagu `binary`; fetched from the npm registry by default")
	flags.IntVar(&cfg.Rounds, "rounds", 5, "rounds of which the median counts")
	flags.IntVar(&cfg.Slots, "slots", 4, "tasks at once, in both")
	flags.Float64Var(&cfg.Goal, "goal", 0, "exit with 1 if a median ratio is above this; 0 does not check")
	cases := flags.String("cases", strings.Join(names(), ","), "comma-separated")
	report, code := rig.Run(flags, args, stdout, func() error {
		cfg.Cases = strings.Split(*cases, ",")
		return cfg.Validate()
	}, func() (*Report, error) {
		bench, err := peer.New(peer.Config{Bezoar: cfg.Bezoar})
		if err != nil {
			return nil, err
		}
		defer bench.Close()
		if cfg.Bezoar, err = bench.Binary(ctx); err != nil {
			return nil, err
		}
		if cfg.Dagu == "" {
			if cfg.Dagu, err = fetch(ctx, stderr); err != nil {
				return nil, err
			}
		}
		return measure(ctx, cfg, bench, stderr)
	})
	if report != nil && code == 0 && cfg.Goal > 0 && report.Worst() > cfg.Goal {
		fmt.Fprintf(stderr, "flow: a median ratio is %.2f, above the goal of %.2f\n", report.Worst(), cfg.Goal)
		return 1
	}
	return code
}
