// Pill measures what a query of death does to a fleet behind nginx, HAProxy and
// Bezoar: eight worker processes, each restarted 3 s after its death by a plain
// shell loop, 400 good requests a second of 20 ms each, one of ten to a popular
// slow page of 100 ms, and two pills a second for 20 s.
//
//	go run -C bench ./pill
//	go run -C bench ./pill -rows bezoar -pill unique
//
// It needs nginx and haproxy, which scripts/peers installs, and Linux.
package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/rig"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Config says what to measure.
type Config struct {
	Rows    []string
	Pill    Pill
	Length  time.Duration // of the sending; 2 s to 10 min
	Workers int           // 1 to 64
	Rate    int           // good requests per second; 1 to 2,000
	Doses   float64       // of pills, per second; above 0, to 100
	Bezoar  string        // the binary; "" builds it
	Explain bool          // print the first good requests that came to grief, and the slowest
}

// Validate joins every fault.
func (c Config) Validate() error {
	var errs faults.List
	for _, name := range c.Rows {
		errs.If(!slices.Contains(rowNames(), name), "rows: %q is unknown, want some of %s", name, strings.Join(rowNames(), ","))
	}
	errs.If(!slices.Contains(pills(), c.Pill), "pill: %q is unknown, want one of %v", c.Pill, pills())
	errs.If(c.Length < 2*time.Second || c.Length > 10*time.Minute, "length: %v, want 2s to 10m", c.Length)
	errs.If(c.Workers < 1 || c.Workers > 64, "workers: %d, want 1 to 64", c.Workers)
	errs.If(c.Rate < 1 || c.Rate > 2000, "rate: %d, want 1 to 2000", c.Rate)
	errs.If(!(c.Doses > 0) || c.Doses > 100, "doses: %g, want above 0, to 100", c.Doses)
	return errors.Join(errs...)
}

func main() {
	rig.Main(run)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := rig.Flags("pill", stderr)
	var cfg Config
	names := flags.String("rows", strings.Join(rowNames(), ","), "comma-separated")
	kind := flags.String("pill", string(payload), "payload (one, in a POST), get (one, in a query), burst (64 copies at once), hang, unique")
	flags.DurationVar(&cfg.Length, "length", 20*time.Second, "of the sending, per row")
	flags.IntVar(&cfg.Workers, "workers", 8, "worker processes")
	flags.IntVar(&cfg.Rate, "rate", 400, "good requests per second")
	flags.Float64Var(&cfg.Doses, "doses", 2, "of pills, per second")
	flags.StringVar(&cfg.Bezoar, "bezoar", "", "the bezoar `binary`; built from the checkout by default")
	flags.BoolVar(&cfg.Explain, "explain", false, "print the first good requests that came to grief, and the slowest of the others")
	_, code := rig.Run(flags, args, stdout, func() error {
		cfg.Rows, cfg.Pill = strings.Split(*names, ","), Pill(*kind)
		return cfg.Validate()
	}, func() (*Report, error) { return Measure(ctx, cfg, stderr) })
	return code
}
