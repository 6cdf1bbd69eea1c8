package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/sorted"
)

type guardTopCmd struct {
	remote
	Route  string `placeholder:"ROUTE" help:"Only this route."`
	Caller string `placeholder:"CALLER" help:"Only this caller, with its shapes."`
	Limit  int    `short:"n" default:"10" placeholder:"N" help:"How many callers and shapes of each route to list (default 10)."`
	watching
}

// Help is shown below the flags.
func (guardTopCmd) Help() string {
	return "A caller's name is the one that it sends (X-Opaque-Id, the API key's ID, the user), or else the one that bezoar top shows. Shapes that killed a worker come first, then those whose answers took longest. PREDICTED is the largest cost of a shape in units. " +
		"TOOK is the average time of its answers. MOSTLY is where most of the cost comes from. LEDGER is the verdict on the shape because it killed workers."
}

// Run shows what the guards of the running gateway have counted.
func (c *guardTopCmd) Run(s *session, api *adminapi.Client) error {
	if c.Limit < 1 || c.Limit > adminapi.MaxGuardRows {
		return exitf(exitUsage, "-n is %d, want 1 to %d", c.Limit, adminapi.MaxGuardRows)
	}
	if err := c.check(); err != nil {
		return err
	}
	return c.ask(s, func() error {
		shown, err := c.wanted(s, api)
		if err != nil {
			return err
		}
		return c.show(s, api, shown)
	})
}

// wanted returns the guards that the flags select.
func (c *guardTopCmd) wanted(s *session, api *adminapi.Client) ([]adminapi.Guard, error) {
	limit := c.Limit
	if c.Caller != "" { // wherever it stands
		limit = adminapi.MaxGuardRows
	}
	all, err := api.Guards(s, limit)
	if err != nil {
		return nil, err
	}
	if c.Route != "" {
		if _, err := guardedRoute(all, c.Route); err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(g adminapi.Guard) bool { return g.Route != c.Route })
	}
	if c.Caller == "" {
		return all, nil
	}
	found := false
	for i := range all {
		of := onlyOf(&all[i], c.Caller)
		found = found || of
	}
	if !found {
		return nil, hinted(exitf(exitNotFound, "no caller %.100q has sent queries, or others cost more", clean(c.Caller)), "bezoar guard top lists them")
	}
	return all, nil
}

// onlyOf keeps one caller, and the shapes that it has sent.
func onlyOf(g *adminapi.Guard, caller string) bool {
	g.Callers = slices.DeleteFunc(g.Callers, func(c guard.CallerStats) bool { return c.Caller != caller })
	g.Shapes = slices.DeleteFunc(g.Shapes, func(h adminapi.GuardShape) bool {
		return !slices.ContainsFunc(g.Callers, func(c guard.CallerStats) bool {
			return slices.ContainsFunc(c.Shapes, func(s guard.CallerShape) bool { return s.Shape == h.Shape })
		})
	})
	return len(g.Callers) > 0
}

// guardedRoute finds the guard of a route. Its error lists the routes with guards.
func guardedRoute(all []adminapi.Guard, route string) (*adminapi.Guard, error) {
	if len(all) == 0 {
		return nil, errNoGuard()
	}
	names := make([]string, 0, len(all))
	for i := range all {
		if all[i].Route == route {
			return &all[i], nil
		}
		names = append(names, clean(all[i].Route))
	}
	return nil, hinted(exitf(exitNotFound, "the route %.100q does not exist, or has no guard", clean(route)), "guarded routes: %s", strings.Join(names, ", "))
}

func errNoGuard() error {
	return hinted(exitf(exitNotFound, "no route has a guard"), "add guard: {query: elasticsearch} to a route in the settings")
}

func (c *guardTopCmd) show(s *session, api *adminapi.Client, shown []adminapi.Guard) error {
	if s.json {
		return c.json(s, adminapi.Guards{Guards: append([]adminapi.Guard{}, shown...)})
	}
	c.clear(s)
	if len(shown) == 0 {
		s.say("no route has a guard")
		return nil
	}
	overrides, err := api.Overrides(s)
	if problem, ok := errors.AsType[*adminapi.Problem](err); ok && problem.Code == adminapi.CodeFixed {
		err = nil // settings without versions have no overrides
	}
	if err != nil {
		return err
	}
	for i, g := range shown {
		if i > 0 {
			s.out.printf("\n")
		}
		writeGuard(s.out, &g, overrides, s.now(), c.Caller != "")
	}
	return nil
}

func writeGuard(p *printer, g *adminapi.Guard, overrides []live.Override, now time.Time, whole bool) {
	p.printf("%s: %s, limits version %d", p.paint(bold, clean(g.Route)), clean(string(g.Kind)), g.Version)
	if g.Limits != "" {
		p.printf(" of %s", clean(g.Limits))
	}
	if g.ReportOnly {
		p.printf(", %s", p.paint(yellow, "report only"))
	}
	if g.Dial != 1 {
		p.printf(", %s", p.paint(yellow, fmt.Sprintf("limits × %g", g.Dial)))
	}
	if g.Load > 0 {
		p.printf(", %s", p.paint(yellow, fmt.Sprintf("load %.0f %%", 100*g.Load)))
	}
	p.printf("\n")
	for _, f := range g.Faults {
		p.printf("%s since %s, the previous limits stay in force: %s\n", p.paint(red, "broken"), clock(now, f.Since), clean(f.Error))
	}
	for _, o := range overrides {
		if o.ForQueries() && (o.Route == "" || o.Route == g.Route) {
			p.printf("%s %s: %s for %s until %s, by %s\n", p.paint(yellow, "override"), clean(o.ID), whatText(o), targetText(o), clock(now, o.Until), clean(o.By))
		}
	}
	writeHints(p, g, now)
	t := g.Total
	p.printf("%s: %d accepted, %d reported, %d capped, %d rejected; %s units", count(t.Checked, "query", "queries"), t.Accepted, t.Reported, t.Capped, t.Rejected, unitsText(t.Cost))
	if j := g.Judging; j.Queries > 0 {
		p.printf("; judged in %v on average", brief(j.Took/time.Duration(j.Queries)))
	}
	if g.Slow > 0 {
		p.printf("; %d slow", g.Slow)
	}
	p.printf("\n")
	if len(g.Callers) > 0 {
		writeGuardCallers(p, g.Callers, whole)
	}
	if len(g.Shapes) > 0 {
		writeGuardShapes(p, g.Shapes, now)
	}
}

// writeHints prints the hints' contents and age.
func writeHints(p *printer, g *adminapi.Guard, now time.Time) {
	var parts []string
	for _, h := range g.Hints {
		age := "of unknown age"
		if !h.At.IsZero() {
			age = brief(now.Sub(h.At)) + " old"
		}
		source := h.Source
		if h.Source == guard.Static.String() && g.HintsFile != "" {
			source = g.HintsFile
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s, %s)", clean(source), age, count(int64(h.Indices), "index", "indices"), count(int64(h.Fields), "field", "fields")))
	}
	if len(parts) > 0 {
		p.printf("hints: %s\n", strings.Join(parts, ", "))
	}
	if g.Poll != nil && g.Poll.Error != "" {
		p.printf("%s: the backend gives no hints, %s in a row: %s\n", p.paint(red, "hints"), count(int64(g.Poll.Failures), "failure", "failures"), clean(g.Poll.Error))
	}
}

// unitsText formats a cost with its significant digits.
func unitsText(units float64) string {
	if units > 0 && units < 10 {
		return fmt.Sprintf("%.1f", units)
	}
	return fmt.Sprintf("%.0f", units)
}

// brief formats a duration with two or three digits.
func brief(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

func writeGuardCallers(p *printer, callers []guard.CallerStats, whole bool) {
	t := table{head: []string{"CALLER", "CLASS", ">QUERIES", ">UNITS", ">REPORTED", ">CAPPED", ">REJECTED", "WORST SHAPE", "MOSTLY FOR"}}
	for _, c := range callers {
		rejected := cell{text: fmt.Sprint(c.Rejected)}
		if c.Rejected > 0 {
			rejected.style = red
		}
		t.add(plain(cmp.Or(c.Caller, "(anonymous)")), plain(cmp.Or(c.Class, "-")), plain(fmt.Sprint(c.Checked)), plain(unitsText(c.Cost)), plain(fmt.Sprint(c.Reported)),
			plain(fmt.Sprint(c.Capped)), rejected, plain(c.Worst), plain(mostRules(c.Rules)))
	}
	t.write(p, "")
	if !whole {
		return
	}
	for _, c := range callers {
		if len(c.Shapes) == 0 {
			continue
		}
		t := table{head: []string{"ITS SHAPES", ">QUERIES", ">UNITS", ">AT MOST", ">REJECTED"}}
		for _, s := range c.Shapes {
			t.add(plain(s.Shape), plain(fmt.Sprint(s.Queries)), plain(unitsText(s.Cost)), plain(unitsText(s.MaxCost)), plain(fmt.Sprint(s.Rejected)))
		}
		t.write(p, "")
	}
}

// mostRules returns the predictors whose limits a caller exceeded most often.
func mostRules(rules map[string]int64) string {
	names := sorted.Collect(maps.Keys(rules), func(a, b string) int { return cmp.Or(-cmp.Compare(rules[a], rules[b]), cmp.Compare(a, b)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%s (%d)", name, rules[name])
	}
	if len(names) == 0 {
		return "-"
	}
	return strings.Join(names[:min(len(names), 3)], ", ")
}

func writeGuardShapes(p *printer, shapes []adminapi.GuardShape, now time.Time) {
	t := table{head: []string{"SHAPE", ">QUERIES", ">REJECTED", ">PREDICTED", ">TOOK", ">AT MOST", ">BYTES", ">DEATHS", "LEDGER", "MOSTLY", "BEYOND A LIMIT"}}
	for _, h := range shapes {
		held := cell{text: "-"}
		if h.Verdict != "" {
			held = cell{clean(fmt.Sprintf("%s %s", h.State, h.Verdict)), red}
		}
		took, most, bytes := "-", "-", "-"
		if h.Observed > 0 {
			took, most = brief(h.Took/time.Duration(h.Observed)), brief(h.MaxTook)
			bytes = size(uint64(max(h.Bytes, 0) / h.Observed))
		}
		beyond := "-"
		if h.Predictor != "" {
			beyond = fmt.Sprintf("%s %s at %s (%s)", h.Action, h.Predictor, h.Path, h.Rule)
		}
		deaths := cell{text: fmt.Sprint(h.Deaths)}
		if h.Deaths > 0 {
			deaths.style = red
		}
		t.add(plain(h.Shape), plain(fmt.Sprint(h.Checked)), plain(fmt.Sprint(h.Rejected)), plain(unitsText(h.MaxCost)+" units"), plain(took), plain(most), plain(bytes),
			deaths, held, plain(cmp.Or(h.Mostly, "-")), plain(beyond))
	}
	t.write(p, "")
	queries := table{head: []string{"SHAPE", "A QUERY OF IT, WITHOUT ITS VALUES"}}
	for _, h := range shapes {
		if h.Query != "" {
			queries.add(plain(h.Shape), plain(h.Query))
		}
	}
	if len(queries.rows) > 0 {
		queries.write(p, "")
	}
}
