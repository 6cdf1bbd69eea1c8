package metrics

import (
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
	"github.com/bezoar-dev/bezoar/overload"
)

// classes returns the values of the label class, by the first digit of the status.
func classes() [6]string { return [6]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"} }

func classOf(status int) int {
	if c := status / 100; c >= 1 && c <= 5 {
		return c
	}
	return 0
}

const numRules = 17

// rules returns the values of the label rule: the first is for requests that were not
// refused, the last for rules without a value of their own.
func rules() [numRules]string {
	return [numRules]string{
		"none", "rate", overload.RuleConcurrency, overload.RuleQueue, overload.RulePerCaller, overload.RuleStreams,
		dispatch.RuleDeadline, // also of package overload
		admission.RuleBreaker, dispatch.RuleQuarantine, dispatch.RuleUnavailable, dispatch.RuleLane, dispatch.RuleDuplicate,
		dispatch.RulePace, dispatch.RuleBudget, admission.RuleDenied, admission.RuleRepeated, "other",
	}
}

// ruleOf returns the index of a rule in counts.
func ruleOf(rule string) int {
	if rule == "" {
		return 0
	}
	if strings.HasPrefix(rule, "rate:") {
		rule = "rate"
	}
	all := rules()
	if at := slices.Index(all[:], rule); at > 0 {
		return at
	}
	return numRules - 1
}

// fallbacks returns the values of the label kind.
func fallbacks() [5]string { return [5]string{"static", "stale", "other", "degraded", "unknown"} }

func fallbackOf(kind string) int {
	all := fallbacks()
	if at := slices.Index(all[:], kind); at >= 0 {
		return at
	}
	return len(all) - 1
}

// counts holds the counts of one route.
type counts struct {
	requests  [6][numRules]uint64
	fallbacks [5]uint64
	in, out   uint64 // in bytes
	attempts  uint64
	lane      uint64
	cut       uint64
	units     uint64
	duration  histogram // of requests sent to a worker
	firstByte histogram // of requests sent to a worker and answered
	waited    histogram // of requests that waited
}

func (c *counts) observe(r *accesslog.Record) {
	c.requests[classOf(r.Status)][ruleOf(r.Rule)]++
	c.in += uint64(max(r.BytesIn, 0))
	c.out += uint64(max(r.BytesOut, 0))
	c.units += uint64(max(r.Cost, 0))
	if r.Attempts > 0 {
		c.attempts += uint64(r.Attempts)
		c.duration.observe(r.Duration)
		if r.TTFB > 0 {
			c.firstByte.observe(r.TTFB)
		}
	}
	if r.Waited > 0 {
		c.waited.observe(r.Waited)
	}
	if r.Lane {
		c.lane++
	}
	if r.Cut {
		c.cut++
	}
	if r.Fallback != "" {
		c.fallbacks[fallbackOf(r.Fallback)]++
	}
}

func (c *counts) add(o *counts) {
	for i := range c.requests {
		for j := range c.requests[i] {
			c.requests[i][j] += o.requests[i][j]
		}
	}
	for i := range c.fallbacks {
		c.fallbacks[i] += o.fallbacks[i]
	}
	c.in, c.out, c.attempts = c.in+o.in, c.out+o.out, c.attempts+o.attempts
	c.lane, c.cut, c.units = c.lane+o.lane, c.cut+o.cut, c.units+o.units
	c.duration.add(&o.duration)
	c.firstByte.add(&o.firstByte)
	c.waited.add(&o.waited)
}

func (c *counts) empty() bool { return *c == counts{} }
