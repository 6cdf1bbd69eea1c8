package app

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/gateway"
	"github.com/bezoar-dev/bezoar/internal/gateway/stale"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/balance"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/budget"
	"github.com/bezoar-dev/bezoar/policy/shard"
	"github.com/bezoar-dev/bezoar/policy/shed"
	"github.com/bezoar-dev/bezoar/quota"
)

// protection holds the limits on requests of all routes. It survives a reload, and so do its counters and states.
type protection struct {
	limiter  *quota.Limiter
	circuits *circuit.Circuits
	stale    *stale.Cache
	budgets  map[string]*dispatch.CallerBudgets
	retries  map[string]fleetRetry // by fleet

	mu    sync.Mutex                // guards pools, which other goroutines read
	pools map[string]*overload.Pool // by fleet
}

func (a *App) openProtection() error {
	limiter, err := quota.New(quota.Config{Store: a.sharedQuota(), Node: a.node, Log: a.log})
	if err != nil {
		return err
	}
	circuits, err := circuit.New(circuit.Config{Node: a.node, Poll: max(a.cfg.Live.Poll, 10*time.Millisecond), Store: a.stores.Queue, Log: a.log, Observe: a.circuitChanged})
	if err != nil {
		return err
	}
	p := &a.protect
	p.limiter, p.circuits, p.stale = limiter, circuits, stale.New(stale.Config{})
	p.pools, p.budgets = map[string]*overload.Pool{}, map[string]*dispatch.CallerBudgets{}
	p.retries = map[string]fleetRetry{}
	return nil
}

// nothing is a share or rate of none. It is not 0, because 0 means the default.
const nothing = 1e-9

func budgetOf(ratio config.Ratio, floor int) budget.Config {
	return budget.Config{Ratio: max(float64(ratio), nothing), Floor: max(float64(floor), nothing)}
}

// fleetRetry is the budget of a fleet's retries over all its routes, and the settings that it was made from.
type fleetRetry struct {
	of    config.Budget
	retry *dispatch.Retry
}

// fleetRetry returns the fleet's budget. If its settings are the same, it keeps what was spent.
func (p *protection) fleetRetry(fleet string, c config.Budget) (*dispatch.Retry, error) {
	if r, ok := p.retries[fleet]; ok && r.of == c {
		return r.retry, nil
	}
	r, err := dispatch.NewRetry(dispatch.RetryConfig{Budget: budgetOf(c.Ratio, c.Floor)})
	if err != nil {
		return nil, fmt.Errorf("fleets.%s.retries: %w", fleet, err)
	}
	p.retries[fleet] = fleetRetry{c, r}
	return r, nil
}

// sharedQuota returns where quotas are counted over all nodes; nil if there is only one node.
func (a *App) sharedQuota() quota.Store {
	if !a.follows() {
		return nil
	}
	return measuredQuota{a.stores.Quota, a.storeHealth()}
}

// quotasOf lists the quotas of cfg and returns the place of each. Quotas that are counted already keep their places,
// because requests in flight refer to them. Only places of unused quotas are given to others. A nil use means that all are
// in use.
func (p *protection) quotasOf(cfg *config.Config, use map[string]bool) ([]quota.Quota, map[string]int) {
	wanted, list := quotasIn(cfg), p.limiter.Quotas()
	at, stays := map[string]int{}, maps.Clone(use)
	for _, q := range wanted {
		if use != nil {
			stays[q.Name] = true
		}
	}
	var free []int
	for i, q := range list {
		if use == nil || stays[q.Name] {
			at[q.Name] = i
		} else {
			free = append(free, i)
		}
	}
	for _, q := range wanted {
		i, ok := at[q.Name]
		switch {
		case ok:
		case len(free) > 0:
			i, free = free[0], free[1:]
		default:
			i, list = len(list), append(list, q)
		}
		at[q.Name], list[i] = i, q
	}
	return list, at
}

func quotasIn(cfg *config.Config) []quota.Quota {
	var out []quota.Quota
	add := func(place string, limits []config.Limit) {
		for _, l := range limits {
			out = append(out, quota.Quota{
				Name: quotaName(place, l), Unit: quota.Unit(l.Unit), Limit: l.Rate.N, Per: l.Rate.Per, Burst: int64(l.Burst),
				Buckets: l.Buckets, Shared: l.Shared,
			})
		}
	}
	for i := range cfg.Routes {
		add(routeName(i, cfg.Routes[i]), cfg.Routes[i].Limits)
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Plans)) {
		add(name, cfg.Plans[name].Limits)
	}
	return out
}

// quotaName names a quota: a limit of a route counts for the route, a limit of a plan counts over all its routes.
func quotaName(place string, l config.Limit) string { return place + " " + l.Name }

// routePolicy sets the admission rules of a route.
func (a *App) routePolicy(next *present, out *gateway.Route, r *config.Route, quotas map[string]int) error {
	cfg := &next.cfg
	out.Limits = limits(out.Name, r.Limits, quotas)
	for _, name := range r.Plans {
		p := cfg.Plans[name]
		plan := admission.Plan{Name: name, Callers: members(p.Callers), Limits: limits(name, p.Limits, quotas)}
		if p.Priority != "" {
			v, err := shed.ParsePriority(p.Priority)
			if err != nil {
				return fmt.Errorf("plans.%s: %w", name, err)
			}
			plan.Priority = &v
		}
		out.Plans = append(out.Plans, plan)
	}
	v, err := shed.ParsePriority(r.Priority.Default)
	if err != nil {
		return err
	}
	out.Priority = admission.PriorityRule{Default: v, Header: r.Priority.Header}
	if !r.Works() {
		return nil
	}
	f := cfg.Fleets[r.Fleet]
	out.Optional, out.Pool = f.Optional, a.protect.pool(r.Fleet)
	if s := f.Shard; s != nil {
		out.Shard, out.Cells = s.Size, s.Cells
		if s.Size == 0 && s.Cells == 0 {
			out.Shard = shard.Default(max(f.Replicas, len(f.Workers), next.byName[r.Fleet].named()))
		}
		if out.Overflow, err = fleet.ParseOverflow(s.Overflow); err != nil {
			return err
		}
	}
	return a.reserves(next, out, r)
}

// reserves sets the route's breaker, fallbacks and callers' budgets.
func (a *App) reserves(next *present, out *gateway.Route, r *config.Route) error {
	if b := r.Breaker; b != nil && !b.Off {
		br, err := a.protect.circuits.Breaker(circuitName(r.Fleet, out.Name), breakerOf(b))
		if err != nil {
			return err
		}
		out.Breaker, out.Slow = br, b.Slow
	}
	for i, f := range r.Fallback {
		fb := gateway.Fallback{}
		for _, on := range f.On {
			fb.On = append(fb.On, admission.FallbackCause(on))
		}
		switch {
		case f.Static != nil:
			fb.Static = &admission.Static{Status: f.Static.Status, Body: []byte(f.Static.Body), Header: http.Header{"Content-Type": {f.Static.ContentType}}}
		case f.Stale > 0:
			fb.Stale, out.Stale = &admission.Stale{MaxAge: f.Stale}, a.protect.stale
		default:
			u := next.byName[f.Fleet]
			if u == nil {
				return fmt.Errorf("fallback[%d]: there is no fleet %s", i, f.Fleet)
			}
			settings := next.cfg.Fleets[f.Fleet]
			fb.Other, fb.Base, fb.Known = u.doer, settings.BasePath(), u.known
		}
		out.Fallback = append(out.Fallback, fb)
	}
	if share := r.Retry.PerCaller; share > 0 && r.Client != "" {
		key := budgetName(out.Name, share)
		b := a.protect.budgets[key]
		if b == nil {
			var err error
			if b, err = dispatch.NewCallerBudgets(dispatch.CallerBudgetsConfig{Budget: budget.Config{Ratio: float64(share), Floor: callerFloor}}); err != nil {
				return err
			}
			a.protect.budgets[key] = b
		}
		out.Budget = b
	}
	return nil
}

// callerFloor is how many retries per second each caller has at least.
const callerFloor = 1

func budgetName(route string, share config.Ratio) string { return fmt.Sprintf("%s %v", route, share) }

func circuitName(fleet, route string) string { return fleet + " " + route }

func breakerOf(b *config.Breaker) breaker.Config {
	ratio := func(r config.Ratio) float64 {
		if r == 0 {
			return breaker.Off
		}
		return float64(r)
	}
	c := breaker.Config{
		Window: b.Window, MinVolume: b.MinVolume, FailureRatio: ratio(b.FailureRatio), SlowRatio: ratio(b.SlowRatio),
		Consecutive: b.Consecutive, Open: b.Open, MaxOpen: b.MaxOpen, Probes: b.Probes,
	}
	c.Consecutive = cmp.Or(c.Consecutive, breaker.Off)
	return c
}

func limits(place string, in []config.Limit, quotas map[string]int) []admission.Limit {
	var out []admission.Limit
	for _, l := range in {
		out = append(out, admission.Limit{Quota: quotas[quotaName(place, l)], Key: l.Key, Answers: l.Unit == config.UnitBytes})
	}
	return out
}

// members reports whether a caller is in a list; * stands for every caller.
func members(callers []string) func(string) bool {
	if slices.Contains(callers, "*") {
		return nil
	}
	set := make(map[string]bool, len(callers))
	for _, c := range callers {
		set[c] = true
	}
	return func(caller string) bool { return set[caller] }
}

// pool returns the fleet's pool, or nil.
func (p *protection) pool(fleet string) *overload.Pool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pools[fleet]
}

// poolOf makes or changes the fleet's pool; nil if it has none.
func (p *protection) poolOf(name string, c *config.Concurrency) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c == nil {
		delete(p.pools, name)
		return nil
	}
	cfg := overload.Config{Name: name, Queue: c.Queue, Wait: c.Wait, PerCaller: c.PerCaller, Streams: c.Streams, Limit: shed.Config{Fixed: c.Limit}}
	if c.Limit == 0 {
		cfg.Limit = shed.Config{Min: c.Min, Max: c.Max}
	}
	if c.Queue == 0 {
		cfg.Queue = overload.Off
	}
	if c.Streams == 0 {
		cfg.Streams = overload.Off
	}
	if pool := p.pools[name]; pool != nil {
		return pool.Update(cfg)
	}
	pool, err := overload.New(cfg)
	if err != nil {
		return fmt.Errorf("fleets.%s.concurrency: %w", name, err)
	}
	p.pools[name] = pool
	return nil
}

func ejectOf(e config.Eject) balance.Eject {
	if e.Off {
		return balance.Eject{Consecutive: balance.Off, Above: balance.Off}
	}
	return balance.Eject{Consecutive: e.Consecutive, Above: float64(e.Ratio), For: e.For, MaxFor: max(10*e.For, e.For), MaxEject: float64(e.MaxShare)}
}

func (a *App) circuitChanged(e circuit.Event) {
	a.hub.Publish(circuitEvent(e))
}

// circuitEvent describes a change of a breaker in the API's form.
func circuitEvent(e circuit.Event) adminapi.Event {
	out := adminapi.Event{At: e.At, Kind: "circuit", State: bezoar.State(e.State.String())}
	out.Fleet, _, _ = strings.Cut(e.Name, " ")
	out.Text = fmt.Sprintf("the circuit of %s is %s", e.Name, e.State)
	switch {
	case e.Forced != nil && e.Forced.By != "":
		out.Text += fmt.Sprintf(": forced by %s until %s", e.Forced.By, e.Forced.Until.UTC().Format(time.RFC3339))
	case e.Reason != "":
		out.Text += ": " + e.Reason
	}
	return out
}
