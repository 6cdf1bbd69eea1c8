// Outbox measures how many events a second a relay delivers from PostgreSQL that
// were written before: Bezoar's outbox beside the forwarder of watermill-sql. Both
// write in transactions, send to a place that takes everything, and take turns, so
// that what disturbs the machine disturbs both. For Bezoar it also measures how
// long a single event takes while nothing else happens.
//
//	scripts/with-servers go run -C bench/outbox .
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
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "outbox:", err)
		stop()
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	url                  string
	events, rounds, idle int
	keys                 int
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("outbox", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.url, "postgres", os.Getenv("BEZOAR_TEST_POSTGRES"), "`URL` of a PostgreSQL where schemas can be made")
	flags.IntVar(&o.events, "events", 50_000, "events of one measurement, with 200 bytes each")
	flags.IntVar(&o.keys, "keys", 1000, "keys of these events")
	flags.IntVar(&o.rounds, "rounds", 3, "rounds of which the median counts")
	flags.IntVar(&o.idle, "idle", 500, "single events for the latency; 0 leaves that step out")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.url == "" {
		return errors.New("name a PostgreSQL with -postgres; scripts/with-servers starts one")
	}
	var ours, theirs, ratios []float64
	for round := range o.rounds {
		a, err := bezoarBacklog(ctx, o)
		if err != nil {
			return fmt.Errorf("bezoar: %w", err)
		}
		b, err := watermillBacklog(ctx, o)
		if err != nil {
			return fmt.Errorf("watermill-sql: %w", err)
		}
		fmt.Fprintf(stderr, "round %d: bezoar %.0f events/s, watermill-sql %.0f\n", round+1, a, b)
		ours, theirs, ratios = append(ours, a), append(theirs, b), append(ratios, a/b)
	}
	fmt.Fprintf(stdout, "%-32s %10s\n", "backlog, median", "events/s")
	fmt.Fprintf(stdout, "%-32s %10.0f\n", "bezoar, polling", median(ours))
	fmt.Fprintf(stdout, "%-32s %10.0f\n", "watermill-sql's forwarder", median(theirs))
	fmt.Fprintf(stdout, "%-32s %10.1f\n", "ratio of one round, median", median(ratios))
	if o.idle == 0 {
		return nil
	}
	took, err := bezoarIdle(ctx, o)
	if err != nil {
		return fmt.Errorf("bezoar, idle: %w", err)
	}
	slices.Sort(took)
	at := func(share float64) time.Duration {
		return took[min(len(took)-1, int(share*float64(len(took))))].Round(100 * time.Microsecond)
	}
	fmt.Fprintf(stdout, "bezoar, one event at a time: p50 %v, p99 %v from the write to the sink\n", at(0.5), at(0.99))
	return nil
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

// payload has 200 bytes.
func payload(i int) []byte { return fmt.Appendf(nil, `{"n":%-193d}`, i) }
