package config

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bezoar-dev/bezoar/policy/shard"
)

// contradictions finds settings that defeat each other.
func (c *Config) contradictions() []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, name := range sortedKeys(c.Fleets) {
		f := c.Fleets[name]
		f.contradictions("fleets."+name, say)
	}
	for i := range c.Routes {
		c.Routes[i].contradictions(c, fmt.Sprintf("routes[%d]", i), say)
	}
	return out
}

func (f *Fleet) contradictions(at string, say func(string, ...any)) {
	if w := f.Watchdog; w != nil && f.Memory > 0 && w.Memory >= f.Memory {
		say("%s.watchdog.memory: %v is not below memory, %v: the limit kills workers before the watchdog can restart them", at, w.Memory, f.Memory)
	}
	if s := f.Shard; s != nil {
		size := max(f.Replicas, len(f.Workers))
		members := s.Size
		if members == 0 && s.Cells == 0 {
			members = shard.Default(size)
		}
		if !f.named() && members >= size || s.Cells == 1 {
			say("%s.shard: every caller may reach all %d workers, so one caller can take all of them down", at, size)
		}
	}
	if n := f.Concurrency; n != nil && n.PerCaller > 0 {
		most := n.Limit
		most = cmp.Or(most, n.Max)
		if n.PerCaller >= most {
			say("%s.concurrency.per_caller: %d is not below the fleet's limit, %d: one caller can take all of it", at, n.PerCaller, most)
		}
	}
}

func (r *Route) contradictions(c *Config, at string, say func(string, ...any)) {
	f := c.Fleets[r.Fleet]
	if r.Client == "" {
		if r.Retry.PerCaller > 0 {
			say("%s.retry.per_caller: the route does not identify callers, so no caller has a separate budget; add client", at)
		}
		if n := f.Concurrency; n != nil && n.PerCaller > 0 && r.Works() {
			say("%s: the route does not identify callers, so fleets.%s.concurrency.per_caller has no effect; add client", at, r.Fleet)
		}
	}
	if b := r.Breaker; b != nil && !b.Off && b.FailureRatio == 0 && b.Consecutive == 0 && (b.SlowRatio == 0 || b.Slow == 0) {
		say("%s.breaker: the breaker never opens: failure_ratio and consecutive are off, and so is slow or slow_ratio", at)
	}
	r.idleFallbacks(at, f.Concurrency != nil, say)
	r.idlePlans(c, at, say)
}

// idleFallbacks finds fallbacks that are never used.
func (r *Route) idleFallbacks(at string, sheds bool, say func(string, ...any)) {
	opens := r.Breaker != nil && !r.Breaker.Off
	answered := map[string]int{} // by cause, the item that always answers it
	for i, f := range r.Fallback {
		path := fmt.Sprintf("%s.fallback[%d]", at, i)
		on := f.On
		if len(on) == 0 {
			on = []string{"open", "shed", "unavailable"}
		}
		useful := slices.ContainsFunc(on, func(cause string) bool {
			_, taken := answered[cause]
			return !taken && (cause != "open" || opens) && (cause != "shed" || sheds)
		})
		get := len(r.Match.Methods) == 0 || slices.Contains(r.Match.Methods, "GET")
		switch {
		case f.Stale > 0 && !get:
			say("%s.stale: only answers to GET are kept, and the route does not match GET", path)
		case !useful && len(answered) > 0:
			say("%s: never used: an earlier fallback always answers", path)
		case !useful:
			say("%s: never used: the route has no breaker that opens, or its fleet has no concurrency limit that refuses requests", path)
		}
		if f.Static == nil {
			continue // it may have no answer, so that the next one is tried
		}
		for _, cause := range on {
			answered[cause] = i
		}
	}
}

// idlePlans finds limits of plans that are never reached, because the route's own limits
// are lower.
func (r *Route) idlePlans(c *Config, at string, say func(string, ...any)) {
	for _, name := range r.Plans {
		for i, p := range c.Plans[name].Limits {
			for j, l := range r.Limits {
				if l.Key == p.Key && l.Unit == p.Unit && l.Rate.Per == p.Rate.Per && l.Burst == 0 && p.Burst == 0 && l.Rate.N <= p.Rate.N {
					say("plans.%s.limits[%d]: %v is never reached: %s.limits[%d] limits the same callers to %v", name, i, p.Rate, at, j, l.Rate)
				}
			}
		}
	}
}
