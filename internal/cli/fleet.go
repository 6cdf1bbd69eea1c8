package cli

import (
	"context"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

type fleetCmd struct {
	Ls      fleetLs      `cmd:"" help:"List fleets and their workers."`
	Show    fleetShow    `cmd:"" help:"Show one fleet: the state of its workers, what waits and what is refused."`
	Restart fleetRestart `cmd:"" help:"Replace a fleet's workers one after another, without losing work."`
}

type fleetLs struct {
	remote
	Check bool `help:"Exit with code 8 when a fleet is in panic or down, or its last rolling restart stopped."`
}

func (c *fleetLs) Run(s *session, api *adminapi.Client) error {
	fleets, err := api.Fleets(s)
	err = s.show(adminapi.Fleets{Fleets: fleets}, err, func() {
		for i, f := range fleets {
			if i > 0 {
				s.out.printf("\n")
			}
			writeFleet(s.out, s.now(), f)
		}
	})
	if err != nil || !c.Check {
		return err
	}
	for _, f := range fleets {
		if f.State == "panic" || f.State == "down" {
			return exitf(exitUnhealthy, "fleet %s: %s", clean(f.Name), clean(f.State))
		}
		if r := f.Rollout; r != nil && r.State == "stopped" {
			return exitf(exitUnhealthy, "fleet %s: its rolling restart stopped", clean(f.Name))
		}
	}
	return nil
}

func sinceText(now, since time.Time) string {
	if since.IsZero() {
		return "–"
	}
	return ago(now, since)
}

func endText(now time.Time, e *adminapi.End) string {
	if e == nil {
		return ""
	}
	what := e.Class.String()
	if e.Planned {
		what = "planned"
	}
	if e.Detail != "" {
		what += ": " + e.Detail
	}
	return ago(now, e.At) + ", " + what
}

type fleetRestart struct {
	remote
	Name string        `arg:"" help:"The fleet."`
	Wait time.Duration `placeholder:"DURATION" help:"Wait up to this long until every worker is new and has proven itself. Exit with code 8 if the restart stops early."`
}

func (c *fleetRestart) Run(s *session, api *adminapi.Client) error {
	r, err := api.Restart(s, c.Name)
	if err != nil {
		return err
	}
	if c.Wait > 0 {
		s.say("replacing %d workers of fleet %s", r.Workers, clean(r.Fleet))
		if err := awaitRestart(s, api, r, c.Wait); err != nil {
			return err
		}
	}
	verb := "replacing"
	if c.Wait > 0 {
		verb = "replaced"
	}
	return s.show(r, nil, func() { s.out.printf("%s %s %d workers\n", clean(r.Fleet), verb, r.Workers) })
}

// awaitRestart polls until a rolling restart is over.
func awaitRestart(ctx context.Context, api *adminapi.Client, begun adminapi.Restarting, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	left := begun.Workers
	for {
		fleets, err := api.Fleets(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		r := rolloutOf(fleets, begun.Fleet)
		switch {
		case r == nil || r.Number < begun.Number: // not seen yet
		case r.State == "stopped", r.State == "reverted":
			return hinted(exitf(exitUnhealthy, "fleet %s: the rolling restart stopped: %s", clean(begun.Fleet), clean(stoppedWhy(r))), "%s", clean(r.Next))
		case r.State == "done":
			return nil
		default:
			left = r.Workers - r.Replaced
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return exitf(exitTimedOut, "restart fleet %s: after %v %d workers are not replaced", clean(begun.Fleet), wait, left)
		}
	}
}

func rolloutOf(fleets []adminapi.Fleet, name string) *adminapi.Rollout {
	for _, f := range fleets {
		if f.Name == name {
			return f.Rollout
		}
	}
	return nil
}
