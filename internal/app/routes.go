package app

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/dispatch"
	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/gateway"
	"github.com/bezoar-dev/bezoar/internal/config"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/blame"
	"github.com/bezoar-dev/bezoar/policy/budget"
	"github.com/bezoar-dev/bezoar/queue"
)

// boundRoute is a route with the printer that identifies its work.
type boundRoute struct {
	name    string
	fleet   string
	rule    *blame.Rule
	printer *fingerprint.Printer
	term    time.Duration // of a first quarantine
}

// routeName names a route in verdicts: what it matches, in one word.
func routeName(i int, r config.Route) string {
	name := r.Match.Path
	if name == "" {
		name = "/*"
	}
	if r.Match.Host != "" {
		name = r.Match.Host + name
	}
	if len(r.Match.Methods) > 0 {
		name = fmt.Sprintf("%s#%d", name, i+1)
	}
	return name
}

func ruleOf(q config.Quarantine) *blame.Rule {
	return &blame.Rule{After: q.After, Within: q.Within, For: q.For, Max: q.Max, Strikes: q.Strikes}
}

// openUnits makes the fleets, each with the rules of its routes.
func (a *App) openUnits() error {
	rules := map[string]map[string]*blame.Rule{}
	for i, r := range a.cfg.Routes {
		if r.Enqueue != "" {
			continue
		}
		if rules[r.Fleet] == nil {
			rules[r.Fleet] = map[string]*blame.Rule{}
		}
		rules[r.Fleet][routeName(i, r)] = ruleOf(r.Quarantine)
	}
	for _, name := range slices.Sorted(maps.Keys(a.cfg.Fleets)) {
		u, err := a.newUnit(name, a.cfg.Fleets[name], rules[name])
		if u != nil {
			a.now.Load().add(u) // so that close finds it
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bindRoutes turns the configured routes into the gateway's.
func (a *App) bindRoutes(key fingerprint.Key) ([]gateway.Route, error) {
	out := make([]gateway.Route, 0, len(a.cfg.Routes))
	for i, r := range a.cfg.Routes {
		if r.Enqueue != "" {
			out = append(out, a.bindQueue(i, r, key))
			continue
		}
		u := a.now.Load().byName[r.Fleet]
		p, err := fingerprint.New(key, fingerprint.Config{Headers: r.Headers, Ignore: r.Ignore, MaxBody: int(r.Buffer)})
		if err != nil {
			return nil, fmt.Errorf("routes[%d]: %w", i, err)
		}
		name := routeName(i, r)
		b := boundRoute{name: name, fleet: r.Fleet, rule: u.rules[name], printer: p, term: r.Quarantine.For}
		a.now.Load().routes = append(a.now.Load().routes, b)
		retry, err := dispatch.NewRetry(dispatch.RetryConfig{
			Attempts: r.Retry.Attempts,
			Budget:   budget.Config{Ratio: float64(r.Retry.Budget), Floor: float64(r.Retry.BudgetFloor)},
			Backoff:  backoff.Config{Base: r.Retry.BaseDelay, Cap: r.Retry.Cap},
		})
		if err != nil {
			return nil, fmt.Errorf("routes[%d]: %w", i, err)
		}
		out = append(out, gateway.Route{
			Name: name, Path: r.Match.Path, Hosts: hosts(r), Methods: r.Match.Methods,
			Doer: u.doer, Printer: p, Replay: gateway.Replay(r.Retry.Replay), Buffer: int(r.Buffer),
			Timeout: r.Timeout, Client: r.Client, Rule: b.rule, Retry: retry, Off: r.Quarantine.Off,
		})
	}
	return out, nil
}

func hosts(r config.Route) []string {
	if r.Match.Host == "" {
		return nil
	}
	return []string{r.Match.Host}
}

// bindQueue makes the route of requests that are done later. Their bodies are
// held whole.
func (a *App) bindQueue(i int, r config.Route, key fingerprint.Key) gateway.Route {
	most := queue.MaxBytes
	if q, ok := a.cfg.Queues[r.Enqueue]; ok {
		most = int(q.MaxBytes)
	}
	return gateway.Route{
		Name: routeName(i, r), Path: r.Match.Path, Hosts: hosts(r), Methods: r.Match.Methods,
		Buffer: most, MaxBody: int64(most), Enqueue: enqueuer{a.queues, r.Enqueue, key},
	}
}
