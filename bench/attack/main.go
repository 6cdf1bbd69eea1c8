// Attack measures what somebody who wants to hurt does to a fleet behind Bezoar:
// real workers in Python or Go, 100 good requests a second of several callers, and
// an attack of a few requests a second. Each row is one attack and says whether
// its bound was met.
//
//	go run -C bench ./attack -rows header,post-unique
//	go run -C bench ./attack -lang go -workers 8 -runs 3
//	go run -C bench ./attack -peers -rows header-home
//
// It needs Linux, and python3 for -lang python.
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

// How callers are told apart.
const (
	byHeader = "header" // by X-Api-Key, which the route is told to look at
	byIP     = "ip"     // the attacker has an address of its own
	shared   = "shared" // not at all: everybody sends from one address
)

// Config says what to measure.
type Config struct {
	Rows    []string
	Length  time.Duration // of the attack; 2 s to 10 min
	Workers int           // 1 to 32
	Lang    string        // of the workers: python or go
	Callers string        // header, ip or shared
	Rate    int           // good requests per second; 1 to 1,000
	Runs    int           // of each row; the worst counts; 1 to 20
	Bezoar  string        // the binary; "" builds it
	Peers   bool          // nginx and HAProxy too
	Explain bool          // say more about each run
}

// Validate joins every fault.
func (c Config) Validate() error {
	var errs faults.List
	_, unknown := chosen(c.Rows)
	errs.If(len(unknown) > 0, "rows: %q are unknown, want some of %s", unknown, strings.Join(rowNames(), ","))
	errs.If(c.Length < 2*time.Second || c.Length > 10*time.Minute, "for: %v, want 2s to 10m", c.Length)
	errs.If(c.Workers < 1 || c.Workers > 32, "workers: %d, want 1 to 32", c.Workers)
	errs.If(!slices.Contains([]string{"python", "go"}, c.Lang), "lang: %q, want python or go", c.Lang)
	errs.If(!slices.Contains([]string{byHeader, byIP, shared}, c.Callers), "callers: %q, want header, ip or shared", c.Callers)
	errs.If(c.Rate < 1 || c.Rate > 1000, "rate: %d, want 1 to 1000", c.Rate)
	errs.If(c.Runs < 1 || c.Runs > 20, "runs: %d, want 1 to 20", c.Runs)
	return errors.Join(errs...)
}

func main() {
	rig.Main(run)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := rig.Flags("attack", stderr)
	var cfg Config
	names := flags.String("rows", strings.Join(rowNames(), ","), "comma-separated rows or groups of rows")
	list := flags.Bool("list", false, "say what the rows are")
	flags.DurationVar(&cfg.Length, "for", time.Minute, "how long each row is attacked")
	flags.IntVar(&cfg.Workers, "workers", 4, "worker processes")
	flags.StringVar(&cfg.Lang, "lang", "python", "of the workers: python or go")
	flags.StringVar(&cfg.Callers, "callers", byHeader,
		"how callers are told apart: header (X-Api-Key), ip (the attacker has an address of its own) or shared (not at all)")
	flags.IntVar(&cfg.Rate, "rate", 100, "good requests per second")
	flags.IntVar(&cfg.Runs, "runs", 1, "runs of each row; the worst one counts")
	flags.StringVar(&cfg.Bezoar, "bezoar", "", "the bezoar `binary`; built from the checkout by default")
	flags.BoolVar(&cfg.Peers, "peers", false, "nginx and HAProxy too, where a row can be compared")
	flags.BoolVar(&cfg.Explain, "explain", false, "print the first innocents that came to grief, and all that is in quarantine wrongly")
	strict := flags.Bool("strict", false, "exit with 1 when a bound of Bezoar's is missed")
	report, code := rig.Run(flags, args, stdout, func() error {
		cfg.Rows = strings.Split(*names, ",")
		return cfg.Validate()
	}, func() (*Report, error) {
		if !*list {
			return Measure(ctx, cfg, stderr)
		}
		for _, r := range rows() {
			fmt.Fprintf(stdout, "%-15s %s. Bound: %s\n", r.name, r.what, r.bound.text)
		}
		return nil, nil //nolint:nilnil // there is nothing else to print
	})
	if report != nil && *strict && !report.met() {
		return 1
	}
	return code
}
