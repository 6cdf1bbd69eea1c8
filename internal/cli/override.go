package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/live"
)

type overrideCmd struct {
	Ls   overrideLs   `cmd:"" help:"List the overrides in force."`
	Set  overrideSet  `cmd:"" help:"Tighten or loosen for a while. This replaces an override of the same target."`
	Lift overrideLift `cmd:"" help:"End overrides early."`
}

type overrideLs struct{ remote }

func (c *overrideLs) Run(s *session, api *adminapi.Client) error {
	overrides, err := api.Overrides(s)
	head := []string{"ID", "WHAT", "ROUTE", "PLAN", "CALLER", "ENDS", "BY", "REASON"}
	classed := slices.ContainsFunc(overrides, func(o live.Override) bool { return o.Class != "" })
	if classed { // there are overrides for queries
		head = slices.Insert(head, 4, "CLASS")
	}
	return s.list(adminapi.Overrides{Overrides: overrides}, len(overrides), err, listing{
		none: "nothing is overridden",
		head: head,
		row: func(now time.Time, i int) []cell {
			o := overrides[i]
			cells := []cell{plain(o.ID), {whatText(o), yellow}, plain(orAll(o.Route)), plain(orAll(o.Plan))}
			if classed {
				cells = append(cells, plain(orAll(o.Class)))
			}
			return append(cells, plain(orAll(o.Caller)), plain(until(now, o.Until)), plain(o.By), plain(o.Reason))
		},
	})
}

func orAll(s string) string { return cmp.Or(s, "*") }

// whatText describes briefly what an override changes.
func whatText(o live.Override) string {
	switch {
	case o.What == live.GuardReport:
		return "queries only reported"
	case o.What == live.GuardLimit && o.Index != "":
		return clean(o.Predictor + " " + o.Value + " on " + o.Index)
	case o.What == live.GuardLimit:
		return clean(o.Predictor + " " + o.Value)
	case o.What == live.Guard:
		return fmt.Sprintf("limits of queries × %g", o.Factor)
	case o.Factor != 0:
		return fmt.Sprintf("%s × %g", clean(o.What), o.Factor)
	case o.Value != "":
		return clean(o.What + " " + o.Value)
	}
	return clean(o.What)
}

type overrideSet struct {
	remote
	Caller      string        `placeholder:"CALLER" help:"For this caller: its key, claim or address, as the route tells callers apart."`
	Route       string        `placeholder:"ROUTE" help:"For this route, as fleets and verdicts name it: /search/*."`
	Plan        string        `placeholder:"PLAN" help:"For the callers of this plan."`
	Rate        *float64      `placeholder:"FACTOR" help:"Multiply the rate limits: 0.1 leaves a tenth."`
	Concurrency *float64      `placeholder:"FACTOR" help:"Multiply how many requests one caller may have in flight; with --caller or --plan."`
	Priority    string        `placeholder:"PRIORITY" enum:",critical-plus,critical,sheddable-plus,sheddable" default:"" help:"Priority instead of the route's: critical-plus, critical, sheddable-plus or sheddable."`
	Deny        bool          `help:"Refuse every request."`
	For         time.Duration `required:"" placeholder:"DURATION" help:"How long it lasts, at most 720h."`
	Reason      string        `placeholder:"TEXT" help:"Reason, shown to refused callers and to operators."`
}

// Help is shown below the flags.
func (*overrideSet) Help() string {
	return "Example: bezoar override set --caller acme --rate 0.1 --for 1h --reason 'a loop in their client'. " +
		"Without --caller, --route and --plan, --rate and --priority apply to all callers."
}

func (c *overrideSet) Run(s *session, api *adminapi.Client) error {
	orders := c.orders()
	if len(orders) == 0 {
		return exitf(exitUsage, "say what to change: --rate, --concurrency, --priority or --deny")
	}
	if c.For <= 0 {
		return exitf(exitUsage, "--for is %v, want a positive duration", c.For)
	}
	for name, f := range map[string]*float64{"--rate": c.Rate, "--concurrency": c.Concurrency} {
		if f != nil && (math.IsNaN(*f) || math.IsInf(*f, 0)) {
			return exitf(exitUsage, "%s %g: want a number", name, *f)
		}
	}
	return s.setOverrides(api, orders)
}

// setOverrides sets overrides, and prints those that are set.
func (s *session) setOverrides(api *adminapi.Client, orders []adminapi.SetOverride) error {
	set := []live.Override{}
	err := each(s, orders, func(in adminapi.SetOverride) error {
		o, err := api.SetOverride(s, in)
		if err != nil {
			return err
		}
		set = append(set, o)
		if !s.json {
			s.out.printf("%s\n", clean(o.ID))
			s.say("%s for %s until %s", whatText(o), targetText(o), clock(s.now(), o.Until))
		}
		return nil
	})
	if s.json && len(set) > 0 {
		return errors.Join(s.out.json(adminapi.Overrides{Overrides: set}), err)
	}
	return err
}

// orders returns one order for each change that the flags ask for.
func (c *overrideSet) orders() (out []adminapi.SetOverride) {
	add := func(what string, factor *float64, value string) {
		o := adminapi.SetOverride{
			Route: c.Route, Caller: c.Caller, Plan: c.Plan, What: what, Value: value, For: adminapi.Duration(c.For), Reason: c.Reason,
		}
		if factor != nil {
			o.Factor = *factor
		}
		out = append(out, o)
	}
	if c.Rate != nil {
		add(live.Rate, c.Rate, "")
	}
	if c.Concurrency != nil {
		add(live.Concurrency, c.Concurrency, "")
	}
	if c.Priority != "" {
		add(live.Priority, nil, c.Priority)
	}
	if c.Deny {
		add(live.Deny, nil, "")
	}
	return out
}

func targetText(o live.Override) string {
	var parts []string
	for _, p := range []struct{ word, name string }{{"caller", o.Caller}, {"class", o.Class}, {"plan", o.Plan}, {"route", o.Route}} {
		if p.name != "" {
			parts = append(parts, p.word+" "+clean(p.name))
		}
	}
	if len(parts) == 0 {
		return "everybody"
	}
	return strings.Join(parts, ", ")
}

type overrideLift struct {
	remote
	IDs []string `arg:"" name:"id" help:"The overrides' IDs, or unique prefixes."`
}

func (c *overrideLift) Run(s *session, api *adminapi.Client) error {
	return s.forEach(c.IDs, "lifted", func(given string) (string, error) {
		id, err := overrideID(s, api, given)
		if err != nil {
			return "", err
		}
		return id, api.LiftOverride(s, id)
	})
}

// overrideID completes an id that is given by its beginning.
func overrideID(s *session, api *adminapi.Client, given string) (string, error) {
	overrides, err := api.Overrides(s)
	if err != nil {
		return "", err
	}
	want := "ov-" + strings.TrimPrefix(strings.ToLower(given), "ov-")
	var found []string
	for _, o := range overrides {
		if strings.HasPrefix(o.ID, want) {
			found = append(found, o.ID)
		}
	}
	return oneOf(found, "override", clean(want))
}
