package app

import (
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/policy/shed"
)

// overrides are temporary changes by operators, by target.
type overrides struct {
	now atomic.Pointer[map[target][]live.Override]
}

// target is the target of an override; an empty part matches everything.
type target struct{ route, caller, plan string }

func (o *overrides) set(all []live.Override) {
	m := make(map[target][]live.Override, len(all))
	for _, v := range all {
		t := target{v.Route, v.Caller, v.Plan}
		m[t] = append(m[t], v)
		if net, ok := network(v.Caller); ok {
			t.caller = net
			m[t] = append(m[t], v)
		}
	}
	o.now.Store(&m)
}

// network returns the /64 of an IPv6 address, because routes count IPv6 callers by /64: an operator may type the address
// from a log.
func network(caller string) (string, bool) {
	ip, err := netip.ParseAddr(caller)
	if err != nil || !ip.Is6() || ip.Is4In6() {
		return "", false
	}
	p, err := ip.WithZone("").Prefix(64)
	return p.String(), err == nil
}

// of returns the override of a request. Factors multiply; the most specific priority counts.
func (o *overrides) of(route, caller, plan string) admission.Override {
	m := o.now.Load()
	if m == nil || len(*m) == 0 {
		return admission.Override{}
	}
	var out admission.Override
	// It goes from the widest to the most specific target: one bit for each part that is set.
	for parts := range 8 {
		var t target
		if parts&1 != 0 {
			t.plan = plan
		}
		if parts&2 != 0 {
			t.route = route
		}
		if parts&4 != 0 {
			t.caller = caller
		}
		if parts&1 != 0 && plan == "" || parts&2 != 0 && route == "" || parts&4 != 0 && caller == "" {
			continue // the same target again
		}
		for i := range (*m)[t] {
			apply(&out, &(*m)[t][i])
		}
	}
	return out
}

func apply(out *admission.Override, o *live.Override) {
	switch o.What {
	case live.Rate:
		out.Rate = product(out.Rate, o.Factor)
	case live.Concurrency:
		out.Concurrency = product(out.Concurrency, o.Factor)
	case live.Priority:
		if p, err := shed.ParsePriority(o.Value); err == nil {
			out.Priority = &p
		}
	case live.Deny:
		out.Deny, out.Reason, out.Until = true, o.Reason, o.Until
	}
}

func product(a, b float64) float64 {
	if a == 0 {
		return b
	}
	return a * b
}

// checkOverride returns the faults of an override beyond its form.
func (a *App) checkOverride(o live.Override) error {
	now := a.now.Load()
	var errs faults.List
	errs.If(o.Route != "" && !now.hasRoute(o.Route), "route: there is no route %.100q", o.Route)
	if _, ok := now.cfg.Plans[o.Plan]; o.Plan != "" && !ok {
		errs = append(errs, fmt.Errorf("plan: there is no plan %.100q", o.Plan))
	}
	switch o.What {
	case live.Priority:
		if _, err := shed.ParsePriority(o.Value); err != nil {
			errs = append(errs, fmt.Errorf("value: %w", err))
		}
	case live.Breaker:
		errs = append(errs, errors.New("what: breakers are forced by their own call, bezoar breaker open and close"))
	case live.Guard, live.GuardLimit, live.GuardReport:
		if err := a.checkGuardOverride(o); err != nil {
			errs = append(errs, err)
		}
	case live.Concurrency:
		errs.If(o.Caller == "" && o.Plan == "", "concurrency: name a caller or a plan: a fleet's limit is in the settings")
	}
	errs.If(o.Until.IsZero() || time.Until(o.Until) < 0, "until: is over already")
	return errors.Join(errs...)
}

func (p *present) hasRoute(name string) bool {
	for i, r := range p.cfg.Routes {
		if routeName(i, r) == name {
			return true
		}
	}
	return false
}
