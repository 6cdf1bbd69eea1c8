package metrics

import (
	"strings"

	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
	"github.com/bezoar-dev/bezoar/overload"
)

// classes are the values of the label class, by the first digit of the status.
func classes() [6]string { return [6]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"} }

func classOf(status int) int {
	if c := status / 100; c >= 1 && c <= 5 {
		return c
	}
	return 0
}

// The places of rules in counts.
const (
	ruleNone = iota
	ruleRate
	ruleConcurrency
	ruleQueue
	rulePerCaller
	ruleStreams
	ruleDeadline
	ruleBreaker
	ruleQuarantine
	ruleUnavailable
	ruleLane
	ruleDuplicate
	rulePace
	ruleBudget
	ruleDenied
	ruleRepeated
	ruleOther
	numRules
)

// rules are the values of the label rule.
func rules() [numRules]string {
	return [numRules]string{
		ruleNone: "none", ruleRate: "rate", ruleConcurrency: overload.RuleConcurrency, ruleQueue: overload.RuleQueue,
		rulePerCaller: overload.RulePerCaller, ruleStreams: overload.RuleStreams, ruleDeadline: dispatch.RuleDeadline, ruleBreaker: admission.RuleBreaker,
		ruleQuarantine: dispatch.RuleQuarantine, ruleUnavailable: dispatch.RuleUnavailable, ruleLane: dispatch.RuleLane,
		ruleDuplicate: dispatch.RuleDuplicate, rulePace: dispatch.RulePace, ruleBudget: dispatch.RuleBudget, ruleDenied: admission.RuleDenied,
		ruleRepeated: admission.RuleRepeated, ruleOther: "other",
	}
}

func ruleOf(rule string) int {
	switch rule {
	case "":
		return ruleNone
	case overload.RuleConcurrency:
		return ruleConcurrency
	case overload.RuleQueue:
		return ruleQueue
	case overload.RulePerCaller:
		return rulePerCaller
	case overload.RuleStreams:
		return ruleStreams
	case dispatch.RuleDeadline: // of package overload as well
		return ruleDeadline
	case admission.RuleBreaker:
		return ruleBreaker
	case dispatch.RuleQuarantine:
		return ruleQuarantine
	case dispatch.RuleUnavailable:
		return ruleUnavailable
	case dispatch.RuleLane:
		return ruleLane
	case dispatch.RuleDuplicate:
		return ruleDuplicate
	case dispatch.RulePace:
		return rulePace
	case dispatch.RuleBudget:
		return ruleBudget
	case admission.RuleDenied:
		return ruleDenied
	case admission.RuleRepeated:
		return ruleRepeated
	}
	if strings.HasPrefix(rule, "rate:") {
		return ruleRate
	}
	return ruleOther
}

// fallbacks are the values of the label kind.
func fallbacks() [5]string { return [5]string{"static", "stale", "other", "degraded", "unknown"} }

func fallbackOf(kind string) int {
	for i, name := range fallbacks() {
		if kind == name {
			return i
		}
	}
	return 4
}

// counts are what is counted of one route.
type counts struct {
	requests  [6][numRules]uint64
	fallbacks [5]uint64
	in, out   uint64 // bytes
	attempts  uint64
	lane      uint64
	cut       uint64
	units     uint64
	duration  histogram // of those that a worker was asked for
	firstByte histogram // likewise, when there was an answer
	waited    histogram // of those that waited
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
