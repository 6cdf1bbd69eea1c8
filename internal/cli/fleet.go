package cli

import (
	"context"
	"time"

	"github.com/bezoar-dev/bezoar/internal/adminapi"
)

type fleetCmd struct {
	Ls      fleetLs      `cmd:"" help:"List fleets and their workers."`
	Show    fleetShow    `cmd:"" help:"Show one fleet: what is thought of its workers, what waits and what is refused."`
	Restart fleetRestart `cmd:"" help:"Replace a fleet's workers one after another, without losing work."`
}

type fleetLs struct {
	remote
	Check bool `help:"Exit with code 8 when a fleet is in panic or down."`
}

func (c *fleetLs) Run(s *session) error {
	api, err := c.client(s)
	if err != nil {
		return err
	}
	defer api.Close()
	fleets, err := api.Fleets(s)
	if err != nil {
		return err
	}
	if s.json {
		err = s.out.json(adminapi.Fleets{Fleets: fleets})
	} else {
		for i, f := range fleets {
			if i > 0 {
				s.out.printf("\n")
			}
			writeFleet(s.out, s.now(), f)
		}
	}
	if err != nil || !c.Check {
		return err
	}
	for _, f := range fleets {
		if f.State == "panic" || f.State == "down" {
			return exitf(exitUnhealthy, "fleet %s: %s", clean(f.Name), clean(f.State))
		}
	}
	return nil
}

// notReplaced counts the workers of a fleet that are not new and ready.
func notReplaced(fleets []adminapi.Fleet, name string, before map[string]uint64) (n int) {
	for _, f := range fleets {
		if f.Name != name {
			continue
		}
		for _, w := range f.Workers {
			if old, ok := before[w.Name]; ok && old == w.Epoch || w.State != "ready" {
				n++
			}
		}
	}
	return n
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
	Wait time.Duration `placeholder:"DURATION" help:"Wait up to this long until every worker is new and ready."`
}

func (c *fleetRestart) Run(s *session) error {
	api, err := c.client(s)
	if err != nil {
		return err
	}
	defer api.Close()
	before, err := api.Fleets(s)
	if err != nil {
		return err
	}
	r, err := api.Restart(s, c.Name)
	if err != nil {
		return err
	}
	if c.Wait > 0 {
		s.say("replacing %d workers of fleet %s", r.Workers, clean(r.Fleet))
		if err := awaitRestart(s, api, c.Name, c.Wait, epochs(before, c.Name)); err != nil {
			return err
		}
	}
	if s.json {
		return s.out.json(r)
	}
	verb := "replacing"
	if c.Wait > 0 {
		verb = "replaced"
	}
	s.out.printf("%s %s %d workers\n", clean(r.Fleet), verb, r.Workers)
	return nil
}

// epochs returns the lives of a fleet's workers.
func epochs(fleets []adminapi.Fleet, name string) map[string]uint64 {
	out := map[string]uint64{}
	for _, f := range fleets {
		if f.Name != name {
			continue
		}
		for _, w := range f.Workers {
			out[w.Name] = w.Epoch
		}
	}
	return out
}

// awaitRestart polls until no worker lives in the epoch that it had before.
func awaitRestart(ctx context.Context, api *adminapi.Client, name string, wait time.Duration, before map[string]uint64) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	left := len(before)
	for {
		fleets, err := api.Fleets(ctx)
		switch {
		case err == nil:
			if left = notReplaced(fleets, name, before); left == 0 {
				return nil
			}
		case ctx.Err() == nil:
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return exitf(exitTimedOut, "restart fleet %s: after %v %d workers are not replaced", clean(name), wait, left)
		}
	}
}
