package cli

import (
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/live"
)

type guardSetCmd struct {
	remote
	Route      string        `placeholder:"ROUTE" help:"For this route's guard; without it, for all."`
	Class      string        `placeholder:"NAME" help:"For the callers of this class, and of those that inherit from it."`
	Caller     string        `placeholder:"PATTERN" help:"For these callers, as guard top names them; with --dial or --report-only."`
	Dial       *float64      `placeholder:"FACTOR" help:"Multiply the limits: 0.5 halves them."`
	Predictor  string        `placeholder:"NAME" help:"Change the limit of this predictor: agg_product. With --limit."`
	Limit      string        `placeholder:"N" help:"The new limit: 5000, 64k, 5m, unbounded or off."`
	Action     string        `placeholder:"ACTION" enum:",reject,cap,report" default:"" help:"What happens beyond --limit: reject (the default), cap or report."`
	Index      string        `placeholder:"PATTERN" help:"For these indices or tables; with --limit."`
	ReportOnly bool          `help:"Only report; reject and cap nothing."`
	For        time.Duration `required:"" placeholder:"DURATION" help:"How long it lasts, at most 720h."`
	Reason     string        `placeholder:"TEXT" help:"Reason, shown to operators."`
}

// Help is shown below the flags.
func (*guardSetCmd) Help() string {
	return "Examples: bezoar guard set --dial 0.5 --for 1h --reason 'the cluster is yellow'; " +
		"bezoar guard set --class dashboards --predictor agg_product --limit 5000 --for 1h. The change ends by itself, or with bezoar override lift. " +
		"Permanent limits belong in the settings (rules) or in a file of limits (limits), which is read again when it changes."
}

// Run changes limits of queries for a while.
func (c *guardSetCmd) Run(s *session, api *adminapi.Client) error {
	orders, err := c.orders()
	if err != nil {
		return err
	}
	guards, err := api.Guards(s, 1)
	if err != nil {
		return err
	}
	if len(guards) == 0 {
		return errNoGuard()
	}
	if c.Route != "" {
		if _, err := guardedRoute(guards, c.Route); err != nil {
			return err
		}
	}
	return s.setOverrides(api, orders)
}

// orders returns one order for each change that the flags ask for.
func (c *guardSetCmd) orders() ([]adminapi.SetOverride, error) {
	whole := adminapi.SetOverride{Route: c.Route, Class: c.Class, Caller: c.Caller, For: adminapi.Duration(c.For), Reason: c.Reason}
	var out []adminapi.SetOverride
	if c.For <= 0 {
		return nil, exitf(exitUsage, "--for is %v, want a positive duration", c.For)
	}
	if c.Dial != nil {
		if !(*c.Dial > 0 && *c.Dial <= guard.MaxDial) {
			return nil, exitf(exitUsage, "--dial is %g, want above 0, to %d", *c.Dial, guard.MaxDial)
		}
		o := whole
		o.What, o.Factor = live.Guard, *c.Dial
		out = append(out, o)
	}
	if c.ReportOnly {
		o := whole
		o.What = live.GuardReport
		out = append(out, o)
	}
	switch {
	case c.Predictor != "":
		o, err := c.limit(whole)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	case c.Limit != "" || c.Action != "" || c.Index != "":
		return nil, exitf(exitUsage, "--limit, --action and --index need --predictor")
	case len(out) == 0:
		return nil, exitf(exitUsage, "say what to change: --dial, --predictor with --limit, or --report-only")
	}
	return out, nil
}

// likePredictor adds a hint with similar predictors.
func likePredictor(err error, name string) error {
	var known []string
	for _, p := range cost.Predictors() {
		known = append(known, p.String())
	}
	if best := config.Nearest(name, known); best != "" {
		return hinted(err, "did you mean %s?", best)
	}
	return hinted(err, "predictors: %s", strings.Join(known, ", "))
}

// limit returns the order for a new limit.
func (c *guardSetCmd) limit(o adminapi.SetOverride) (adminapi.SetOverride, error) {
	if _, err := cost.ParsePredictor(c.Predictor); err != nil {
		return o, likePredictor(exitf(exitUsage, "--predictor: %w", err), c.Predictor)
	}
	switch {
	case c.Limit == "":
		return o, exitf(exitUsage, "--predictor %s: say which --limit", c.Predictor)
	case c.Caller != "":
		return o, exitf(exitUsage, "--caller: limits are for a class; --dial and --report-only are for callers, too")
	}
	o.What, o.Predictor, o.Index = live.GuardLimit, c.Predictor, c.Index
	o.Value = strings.TrimSpace(c.Limit + " " + c.Action)
	if _, _, err := guard.ParseLimit(o.Value); err != nil {
		return o, exitf(exitUsage, "--limit: %w", err)
	}
	return o, nil
}
