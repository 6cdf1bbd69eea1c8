package cli

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/adminapi"
	"github.com/bezoar-dev/bezoar/internal/live"
)

type guardTopCmd struct {
	remote
	Route string `placeholder:"ROUTE" help:"Of this route only."`
	Limit int    `short:"n" default:"10" placeholder:"N" help:"List so many callers and shapes of each route (default 10)."`
}

// Run shows what the guards of the running gateway have counted.
func (c *guardTopCmd) Run(s *session) error {
	if c.Limit < 1 || c.Limit > adminapi.MaxGuardRows {
		return exitf(exitUsage, "-n %d: want 1 to %d", c.Limit, adminapi.MaxGuardRows)
	}
	api, err := c.client(s)
	if err != nil {
		return err
	}
	defer api.Close()
	all, err := api.Guards(s, c.Limit)
	if err != nil {
		return err
	}
	shown := []adminapi.Guard{}
	for _, g := range all {
		if c.Route == "" || g.Route == c.Route {
			shown = append(shown, g)
		}
	}
	if c.Route != "" && len(shown) == 0 {
		return exitf(exitNotFound, "no route %.100q has a guard", c.Route)
	}
	if s.json {
		return s.out.json(adminapi.Guards{Guards: shown})
	}
	if len(shown) == 0 {
		s.say("no route has a guard")
		return nil
	}
	for i, g := range shown {
		if i > 0 {
			s.out.printf("\n")
		}
		writeGuard(s, g)
	}
	return nil
}

func writeGuard(s *session, g adminapi.Guard) {
	t := g.Total
	s.out.printf("%s: %s, limits version %d", s.out.paint(bold, clean(g.Route)), clean(string(g.Kind)), g.Version)
	if g.ReportOnly {
		s.out.printf(", %s", s.out.paint(yellow, "report only"))
	}
	if g.Dial != 1 {
		s.out.printf(", %s", s.out.paint(yellow, fmt.Sprintf("limits × %g", g.Dial)))
	}
	if g.HintsAge > 0 {
		s.out.printf(", hints %v old", time.Duration(g.HintsAge).Round(time.Second))
	}
	s.out.printf("\n%d queries: %d accepted, %d reported, %d lowered, %d rejected; %.0f units\n", t.Checked, t.Accepted, t.Reported, t.Capped, t.Rejected, t.Cost)
	if len(g.Callers) > 0 {
		callers := table{head: []string{"CALLER", "QUERIES", "UNITS", "REPORTED", "LOWERED", "REJECTED", "WORST SHAPE"}}
		for _, c := range g.Callers {
			callers.add(plain(c.Caller), plain(fmt.Sprint(c.Checked)), plain(fmt.Sprintf("%.0f", c.Cost)), plain(fmt.Sprint(c.Reported)),
				plain(fmt.Sprint(c.Capped)), plain(fmt.Sprint(c.Rejected)), plain(c.Worst))
		}
		callers.write(s.out, "")
	}
	if len(g.Shapes) == 0 {
		return
	}
	shapes := table{head: []string{"SHAPE", "QUERIES", "PREDICTED", "TOOK", "AT MOST", "DEATHS", "PREDICTOR"}}
	for _, h := range g.Shapes {
		shapes.add(plain(h.Shape), plain(fmt.Sprint(h.Checked)), plain(fmt.Sprintf("%.0f units", h.MaxCost)), plain(meanTook(h.ShapeStats)),
			plain(h.MaxTook.Round(time.Millisecond).String()), cell{fmt.Sprint(h.Deaths), deathStyle(h.Deaths)}, plain(h.Predictor))
	}
	shapes.write(s.out, "")
}

func meanTook(h guard.ShapeStats) string {
	if h.Observed == 0 {
		return "-"
	}
	return (h.Took / time.Duration(h.Observed)).Round(time.Millisecond).String()
}

func deathStyle(n int64) string {
	if n > 0 {
		return red
	}
	return ""
}

type guardSetCmd struct {
	remote
	Route  string        `placeholder:"ROUTE" help:"For this route's guard; without it, for all."`
	Dial   float64       `required:"" placeholder:"FACTOR" help:"Multiply the limits: 0.5 halves them."`
	For    time.Duration `required:"" placeholder:"DURATION" help:"For how long, at most 720h."`
	Reason string        `placeholder:"TEXT" help:"Why, for those who look."`
}

// Help says what else can be changed, and where.
func (*guardSetCmd) Help() string {
	return "Example: bezoar guard set --dial 0.5 --for 1h --reason 'the cluster is yellow'. It ends by itself, or by bezoar override lift. " +
		"Limits themselves are in the settings (rules) or in a file of their own (limits), which is read again when it changes."
}

// Run multiplies the limits of queries for a while.
func (c *guardSetCmd) Run(s *session) error {
	if c.For <= 0 {
		return exitf(exitUsage, "--for %v: want a positive duration", c.For)
	}
	if !(c.Dial > 0 && c.Dial <= guard.MaxDial) {
		return exitf(exitUsage, "--dial %g: want above 0, to %d", c.Dial, guard.MaxDial)
	}
	api, err := c.client(s)
	if err != nil {
		return err
	}
	defer api.Close()
	o, err := api.SetOverride(s, adminapi.SetOverride{What: live.Guard, Route: c.Route, Factor: c.Dial, For: adminapi.Duration(c.For), Reason: c.Reason})
	if err != nil {
		return err
	}
	if s.json {
		return s.out.json(adminapi.Overrides{Overrides: []live.Override{o}})
	}
	s.out.printf("%s\n", clean(o.ID))
	s.say("%s for %s until %s", whatText(o), targetText(o), clock(s.now(), o.Until))
	return nil
}
