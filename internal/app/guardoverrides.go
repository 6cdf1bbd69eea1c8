package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// overrideGuards replaces the overrides of all query guards by these.
func (a *App) overrideGuards(overrides []live.Override) {
	for _, g := range a.guards.list() {
		if err := g.guard.SetOverrides(ofGuard(g.route, overrides)); err != nil {
			a.log.Error("the overrides of a query guard were not changed", "route", g.route, "err", err)
		}
	}
}

// ofGuard returns the overrides of a route's guard, in the guard's form. It leaves out overrides that a newer program wrote
// and this one does not understand.
func ofGuard(route string, overrides []live.Override) (out []guard.Override) {
	for _, o := range overrides {
		if !o.ForQueries() || o.Route != "" && o.Route != route {
			continue
		}
		if g, err := guardOverride(o); err == nil {
			out = append(out, g)
		}
	}
	return out
}

func guardOverride(o live.Override) (guard.Override, error) {
	out := guard.Override{ID: o.ID, Class: o.Class, Caller: o.Caller, Index: o.Index}
	var errs faults.List
	switch o.What {
	case live.Guard:
		out.Dial = o.Factor
	case live.GuardReport:
		out.ReportOnly = true
	case live.GuardLimit:
		var err error
		if out.Predictor, err = cost.ParsePredictor(o.Predictor); err != nil {
			errs = append(errs, fmt.Errorf("predictor: %w", err))
		}
		if out.Limit, out.Action, err = guard.ParseLimit(o.Value); err != nil {
			errs = append(errs, fmt.Errorf("value: %w", err))
		}
	}
	errs.If(o.Plan != "", "plan: query guards have classes, not plans")
	if err := errors.Join(errs...); err != nil {
		return out, err
	}
	return out, out.Validate()
}

func (a *App) checkGuardOverride(o live.Override) error {
	_, err := guardOverride(o)
	guarded, known := false, false
	var classes []string
	for _, g := range a.guards.list() {
		if o.Route == "" || o.Route == g.route {
			limits, _ := g.guard.Limits()
			guarded, known = true, known || limits.HasClass(o.Class)
			for _, c := range limits.Classes {
				classes = append(classes, c.Name)
			}
		}
	}
	switch {
	case !guarded && o.Route == "":
		err = errors.Join(err, errors.New("what: no route has a guard"))
	case !guarded:
		err = errors.Join(err, fmt.Errorf("route: %.100q has no guard", o.Route))
	case o.Class != "" && !known:
		err = errors.Join(err, noClass(o.Class, classes))
	}
	return err
}

// noClass returns the error for an unknown class. It lists existing classes, as many as are readable.
func noClass(name string, classes []string) error {
	slices.Sort(classes)
	classes = slices.Compact(classes)
	more := ""
	if most := 20; len(classes) > most {
		classes, more = classes[:most], " and others"
	}
	if len(classes) == 0 {
		return fmt.Errorf("class: no limits have a class %.100q; they have no classes", name)
	}
	return fmt.Errorf("class: no limits have a class %.100q; they have %s%s", name, strings.Join(classes, ", "), more)
}
