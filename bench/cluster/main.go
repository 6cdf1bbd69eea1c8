// Cluster measures three Bezoars over one PostgreSQL, each in a network namespace
// of its own, while the link of one of them to the store is cut: how exact shared
// quotas are before, during and after, how fast verdicts, settings and orders
// about breakers reach the other nodes, and whether anybody is refused for it.
//
//	make cluster
//	scripts/with-servers go run -C bench ./cluster -cut 20s
//
// It needs root, ip (iproute2), psql and a PostgreSQL at BEZOAR_TEST_POSTGRES.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/rig"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Config says what to measure.
type Config struct {
	Bezoar   string        // the binary; "" builds it
	Postgres string        // URL of a server in which a database can be made
	Length   time.Duration // of what comes before and after; 5 s to 10 min
	Cut      time.Duration // 2 s to 10 min
	Rate     int           // that the limited callers may have, a second at all nodes together; 10 to 1000
	Good     int           // requests a second to each node; 1 to 500
}

// Validate joins every fault.
func (c Config) Validate() error {
	var errs faults.List
	errs.If(c.Postgres == "", "postgres: no server; run it by scripts/with-servers, or give a URL")
	errs.If(c.Length < 5*time.Second || c.Length > 10*time.Minute, "length: %v, want 5s to 10m", c.Length)
	errs.If(c.Cut < 2*time.Second || c.Cut > 10*time.Minute, "cut: %v, want 2s to 10m", c.Cut)
	errs.If(c.Rate < 10 || c.Rate > 1000, "rate: %d, want 10 to 1000", c.Rate)
	errs.If(c.Good < 1 || c.Good > 500, "good: %d, want 1 to 500", c.Good)
	return errors.Join(errs...)
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == workerArg {
		fmt.Fprintln(os.Stderr, "worker:", work(net.JoinHostPort("127.0.0.1", os.Args[2])))
		os.Exit(1)
	}
	rig.Main(run)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := rig.Flags("cluster", stderr)
	var cfg Config
	flags.StringVar(&cfg.Bezoar, "bezoar", "", "the bezoar `binary`; built from the checkout by default")
	flags.StringVar(&cfg.Postgres, "postgres", os.Getenv("BEZOAR_TEST_POSTGRES"), "`URL` of the server")
	flags.DurationVar(&cfg.Length, "length", 20*time.Second, "of what comes before the cut, and after it")
	flags.DurationVar(&cfg.Cut, "cut", 20*time.Second, "how long one node is cut off")
	flags.IntVar(&cfg.Rate, "rate", 100, "that each limited caller may have, a second at all nodes together")
	flags.IntVar(&cfg.Good, "good", 40, "good requests a second to each node")
	strict := flags.Bool("strict", false, "exit with 1 when a promise was not kept")
	report, code := rig.Run(flags, args, stdout, func() error { return cfg.Validate() }, func() (*Report, error) { return Measure(ctx, cfg, stderr) })
	if report != nil && *strict && !report.Kept() {
		return 1
	}
	return code
}
