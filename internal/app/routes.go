package app

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway"
	"github.com/bezoar-dev/bezoar/internal/guardfront"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/blame"
	"github.com/bezoar-dev/bezoar/queue"
)

// boundRoute is a route with the printer that identifies its work.
type boundRoute struct {
	name    string
	fleet   string
	rule    *blame.Rule
	printer *fingerprint.Printer
	term    time.Duration // length of the first quarantine
}

// routeName names a route in verdicts by what it matches.
func routeName(i int, r config.Route) string {
	name := r.Match.Path
	name = cmp.Or(name, "/*")
	if r.Match.Host != "" {
		name = r.Match.Host + name
	}
	if len(r.Match.Methods) > 0 {
		name = fmt.Sprintf("%s#%d", name, i+1)
	}
	return name
}

func ruleOf(q config.Quarantine) *blame.Rule {
	return &blame.Rule{After: q.After, Within: q.Within, For: q.For, Max: q.Max, Strikes: q.Strikes, ReportOnly: q.ReportOnly}
}

// rulesOf returns the rules of a fleet's routes, by route name.
func rulesOf(cfg *config.Config, fleet string) map[string]*blame.Rule {
	rules := map[string]*blame.Rule{}
	for i, r := range cfg.Routes {
		if r.Fleet == fleet && r.Works() {
			rules[routeName(i, r)] = ruleOf(r.Quarantine)
		}
	}
	return rules
}

// gatewayConfig converts the settings of next to the gateway's. next's fleets must exist.
func (a *App) gatewayConfig(next *present) (gateway.Config, error) {
	for _, u := range next.units {
		if err := a.protect.poolOf(u.name, next.cfg.Fleets[u.name].Concurrency); err != nil {
			return gateway.Config{}, err
		}
	}
	quotas, at := a.protect.quotasOf(&next.cfg, a.quotasInUse())
	if err := a.protect.limiter.Update(quotas); err != nil {
		return gateway.Config{}, err
	}
	routes, err := a.bindRoutes(next, at)
	if err == nil {
		err = a.see(next, a.now.Load(), routes)
	}
	return gateway.Config{
		Routes: routes, TrustedProxies: next.cfg.TrustedProxies, MaxBuffered: int64(next.cfg.BufferTotal),
		Log: a.log, Limiter: a.protect.limiter, Overrides: a.overrides.of,
		Observe: a.observability.observe, Trace: a.observability.tracer(),
	}, err
}

// bindRoutes converts the configured routes to the gateway's.
func (a *App) bindRoutes(next *present, quotas map[string]int) ([]gateway.Route, error) {
	out := make([]gateway.Route, 0, len(next.cfg.Routes))
	for i := range next.cfg.Routes {
		r := &next.cfg.Routes[i]
		name := routeName(i, *r)
		var g gateway.Route
		var err error
		switch {
		case r.Redirect != nil:
			g.Redirect = &gateway.Redirect{To: r.Redirect.To, Status: r.Redirect.Status}
		case r.Enqueue != "":
			g = a.bindQueue(next, r)
		default:
			g, err = a.bindFleet(next, r, name)
		}
		g.Name, g.Path, g.Hosts, g.Methods, g.Client = name, r.Match.Path, hosts(*r), r.Match.Methods, r.Client
		if m := int64(r.MaxBody); m > 0 && (g.MaxBody == 0 || m < g.MaxBody) {
			g.MaxBody = m
		}
		g.StripPrefix, g.Request, g.Answer = r.StripPrefix, editOf(r.RequestHeaders), editOf(r.AnswerHeaders)
		g.Paths, g.Lookalikes = gateway.PathMode(r.Paths), gateway.LookalikeMode(r.Lookalikes)
		if err == nil {
			err = a.routePolicy(next, &g, r, quotas)
		}
		if err != nil {
			return nil, fmt.Errorf("routes[%d]: %w", i, err)
		}
		out = append(out, g)
	}
	return out, nil
}

func (a *App) bindFleet(next *present, r *config.Route, name string) (gateway.Route, error) {
	u := next.byName[r.Fleet]
	p, err := fingerprint.New(a.key, fingerprint.Config{Headers: r.Headers, Ignore: r.Ignore, Volatile: r.Volatile, MaxBody: int(r.Buffer)})
	if err != nil {
		return gateway.Route{}, err
	}
	b := boundRoute{name: name, fleet: r.Fleet, rule: ruleOf(r.Quarantine), printer: p, term: r.Quarantine.For}
	next.routes = append(next.routes, b)
	fleet, err := a.protect.fleetRetry(r.Fleet, next.cfg.Fleets[r.Fleet].Retries)
	if err != nil {
		return gateway.Route{}, err
	}
	retry, err := dispatch.NewRetry(dispatch.RetryConfig{
		Fleet:    fleet,
		Attempts: r.Retry.Attempts,
		Budget:   budgetOf(r.Retry.Budget, r.Retry.BudgetFloor),
		Backoff:  backoff.Config{Base: r.Retry.BaseDelay, Cap: r.Retry.Cap},
	})
	if err != nil {
		return gateway.Route{}, err
	}
	var g *guardfront.Guard
	if r.Guard != nil {
		if g, err = a.guardOf(next, name, r, p); err != nil {
			return gateway.Route{}, err
		}
	}
	settings := next.cfg.Fleets[r.Fleet]
	var streams config.Streams
	if r.Streams != nil {
		streams = *r.Streams
	}
	return gateway.Route{
		BufferAnswer: int(r.BufferAnswer), BufferBody: int64(r.BufferBody), Sticky: r.Sticky,
		Guard: g, Known: u.known, Base: settings.BasePath(),
		Doer: u.doer, Printer: p, Replay: gateway.Replay(r.Retry.Replay), Buffer: int(r.Buffer),
		StreamIdle: streams.Idle, StreamTotal: streams.Total,
		Timeout: r.Timeout, HalfClose: r.HalfClose, Rule: b.rule, Retry: retry, Off: r.Quarantine.Off,
	}, nil
}

func editOf(e *config.HeaderEdit) gateway.Edit {
	if e == nil {
		return gateway.Edit{}
	}
	out := gateway.Edit{Remove: e.Remove}
	for _, name := range slices.Sorted(maps.Keys(e.Set)) {
		out.Set = append(out.Set, gateway.Header{Name: name, Value: string(e.Set[name])})
	}
	return out
}

func hosts(r config.Route) []string {
	if r.Match.Host == "" {
		return nil
	}
	return []string{r.Match.Host}
}

// bindQueue makes a route whose requests go to a queue. Their bodies are held completely.
func (a *App) bindQueue(next *present, r *config.Route) gateway.Route {
	most := queue.MaxBytes
	if q, ok := next.cfg.Queues[r.Enqueue]; ok {
		most = int(q.MaxBytes)
	}
	return gateway.Route{Buffer: most, MaxBody: int64(most), Enqueue: enqueuer{a.queues, r.Enqueue, a.key}}
}
