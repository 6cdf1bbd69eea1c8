// Queue measures how many messages a second can be sent, received and deleted:
// Bezoar's engine on SQLite and PostgreSQL beside goqite, River and asynq, and
// its SQS endpoint beside goaws. Every queue acknowledges what is on the disk,
// where it can; all take turns, so that what disturbs the machine disturbs all.
//
//	scripts/with-servers go run -C bench/queue .
//
// A ratio that misses what is wanted is said, and is no failure: machines differ.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"

	"github.com/bezoar-dev/bezoar/bench/internal/rig"
	"github.com/bezoar-dev/bezoar/internal/each"
)

func main() { rig.Main(run) }

// options are what the command line says.
type options struct {
	Config
	dir, postgres, bezoar, profile string
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := rig.Flags("queue", stderr)
	flags.IntVar(&o.Rounds, "rounds", 5, "rounds of which the median counts")
	flags.IntVar(&o.Messages, "messages", 5000, "messages of one measurement")
	flags.IntVar(&o.Backlog, "backlog", 100_000, "messages of a second measurement of the endpoints; 0 leaves it out")
	flags.IntVar(&o.Waiting, "waiting", 1_000_000, "messages that wait in the deep queue; 0 leaves that step out")
	flags.IntVar(&o.Letters, "letters", 100_000, "dead letters beside them")
	workers := flags.String("workers", "1,16", "comma-separated")
	only := flags.String("only", "", "comma-separated `names` of queues; all by default")
	flags.StringVar(&o.dir, "dir", "", "a `folder` on the disk to measure on; the system's temporary one by default")
	flags.StringVar(&o.postgres, "postgres", os.Getenv("BEZOAR_TEST_POSTGRES"), "`URL` of a PostgreSQL where databases can be made")
	flags.StringVar(&o.bezoar, "bezoar", "", "the bezoar `binary`; built from the checkout by default")
	flags.StringVar(&o.profile, "cpuprofile", "", "write a profile of this process to a `file`")
	_, code := rig.Run(flags, args, stdout, func() error { return o.check(*workers, *only) }, func() (*Report, error) {
		return report(ctx, o, stderr)
	})
	return code
}

// check reads the two lists of the command line and validates all of it.
func (o *options) check(workers, only string) (err error) {
	for text := range strings.SplitSeq(workers, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("workers: %q is not a number", text)
		}
		o.Workers = append(o.Workers, n)
	}
	if o.Subjects, err = pick(only); err != nil {
		return err
	}
	return o.Validate()
}

func pick(names string) (picked []Subject, err error) {
	if names == "" {
		return subjects(), nil
	}
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(subjects(), func(s Subject) bool { return s.Name == name })
		if i < 0 {
			all := each.Of(subjects(), func(s Subject) string { return s.Name })
			return nil, fmt.Errorf("only: %q is unknown, want some of %s", name, strings.Join(all, ","))
		}
		picked = append(picked, subjects()[i])
	}
	return picked, nil
}

func report(ctx context.Context, o options, stderr io.Writer) (r *Report, err error) {
	e, err := NewEnv(o.dir, o.postgres, o.bezoar)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if o.profile != "" {
		stop, err := profile(o.profile)
		if err != nil {
			return nil, err
		}
		defer stop()
	}
	all, absent, err := measure(ctx, o.Config, e, stderr)
	if err != nil {
		return nil, err
	}
	r = newReport(o.Config, all, absent)
	for _, s := range o.Subjects {
		if !s.engine || absent[s.Name] != "" || o.Waiting == 0 {
			continue
		}
		d, err := measureDepth(ctx, e, s, o.Waiting, o.Letters, depthCycles, stderr)
		if err != nil {
			return nil, err
		}
		r.Depths = append(r.Depths, d)
	}
	return r, nil
}

func profile(path string) (stop func(), err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close() // a profile cut short says so itself
	}, nil
}
