package gateway

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar/internal/h1"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

// The rules that refuse a request before its body is read, as [Record.Rule] and
// problem documents name them; a quota's is "rate:" and its name, and a pool's
// are those of package overload.
const (
	RuleDenied   = "denied"
	RuleBreaker  = "breaker"
	RuleRepeated = "repeated-header"
	ruleRate     = "rate:"
)

// refusal is why a request is not served, with what its caller is told.
type refusal struct {
	trouble Trouble       // "" when no fallback is for it
	retry   time.Duration // 0: nobody knows
	grounds grounds
}

// grounds is a problem document that names rule, limit, value and time.
type grounds struct {
	problem
	Rule       string   `json:"rule"`
	Quota      string   `json:"quota,omitempty"`
	Violated   []string `json:"violated-policies,omitempty"` // as the RateLimit draft has it
	Unit       string   `json:"unit,omitempty"`
	Limit      int64    `json:"limit,omitempty"`
	Window     string   `json:"window,omitempty"`
	Used       *int64   `json:"used,omitempty"`
	Excess     int64    `json:"excess,omitempty"`
	InFlight   *int     `json:"in_flight,omitempty"`
	Queued     *int     `json:"queued,omitempty"`
	Priority   string   `json:"priority,omitempty"`
	RetryAfter float64  `json:"retry_after,omitempty"` // seconds
}

// refuse makes a refusal.
func refuse(trouble Trouble, rule string, retry time.Duration, p problem) *refusal {
	r := &refusal{trouble: trouble, retry: retry, grounds: grounds{problem: p, Rule: rule}}
	r.grounds.RetryAfter = float64(retry.Round(time.Millisecond)) / float64(time.Second)
	return r
}

// document returns the body. id is the request's.
func (r *refusal) document(id string) []byte {
	g := &r.grounds
	g.Type = ProblemPrefix + g.Type
	g.Title = http.StatusText(g.Status)
	g.Instance = id
	body, err := json.Marshal(g)
	if err != nil { // strings and numbers always encode
		return nil
	}
	return append(body, '\n')
}

// fields appends what says when to come back.
func (r *refusal) fields(dst []h1.Field) []h1.Field {
	if r.retry > 0 {
		dst = append(dst, h1.Field{Name: "Retry-After", Value: strconv.FormatInt(max(seconds(r.retry), 1), 10)})
	}
	return dst
}

// until writes a time of whole seconds, rounded up: who comes back then does not
// come too early.
func until(t time.Time) string {
	return t.Add(time.Second - 1).Truncate(time.Second).UTC().Format(time.RFC3339)
}

// denied is the refusal that an operator ordered.
func (s *stay) denied(now time.Time) *refusal {
	p := problem{
		Type: "denied", Status: http.StatusForbidden, Reason: s.over.Reason,
		Detail: "An operator decided that requests like this one are refused for now.",
	}
	var left time.Duration
	if !s.over.Until.IsZero() {
		left = max(s.over.Until.Sub(now), time.Second)
		p.Until = until(s.over.Until)
	}
	return refuse("", RuleDenied, left, p)
}

// unclear is the refusal of a request that names its caller twice.
func (s *stay) unclear() *refusal {
	return refuse("", RuleRepeated, 0, problem{
		Type: "repeated-header", Status: http.StatusBadRequest,
		Detail: "A header that says who calls is repeated with another value, so that nobody knows who is to be counted.",
	})
}

// overdrawn is the refusal of a quota.
func (s *stay) overdrawn(now time.Time) *refusal {
	d := &s.decision
	l := s.limitOf(d.Quota)
	if l == nil {
		return refuse("", ruleRate, d.RetryAfter, problem{Type: "rate-limited", Status: http.StatusTooManyRequests})
	}
	p := problem{Type: "rate-limited", Status: http.StatusTooManyRequests}
	retry := d.RetryAfter
	what := fmt.Sprintf("The quota %q is %d %s in %v", l.Name, d.Limit, l.Unit, l.Per)
	if l.Burst > 0 {
		what = fmt.Sprintf("The quota %q is %d %s at once, and %d in %v", l.Name, d.Limit, l.Unit, l.Limit, l.Per)
	}
	if d.Never {
		retry = 0
		p.Detail = fmt.Sprintf("%s: this request alone is more than all of it by %d.", what, d.Excess)
	} else {
		p.Until = until(now.Add(retry))
		p.Detail = fmt.Sprintf("%s: with this request it is exceeded by %d. It can be made in %v.", what, d.Excess, retry.Round(time.Millisecond))
	}
	r := refuse("", ruleRate+l.Name, retry, p)
	g := &r.grounds
	g.Quota, g.Violated, g.Unit = l.Name, []string{l.Name}, string(l.Unit)
	g.Limit, g.Used, g.Excess, g.Window = d.Limit, &d.Used, d.Excess, l.Per.String()
	return r
}

// limitOf returns the limit that charges the quota.
func (s *stay) limitOf(index int) *limit {
	for _, l := range s.limits[:s.n] {
		if l.index == index {
			return l
		}
	}
	return nil
}

// broken is the refusal of the circuit breaker. Callers come back spread over
// half as much time again, but a second at least.
func (s *stay) broken(d breaker.Decision) *refusal {
	retry := max(d.RetryAfter, time.Second)
	retry += rand.N(retry/2 + 1)
	detail := "The service behind this has failed too often. It is given time to recover."
	if d.Forced {
		detail = "An operator decided that nothing is sent to the service behind this for now."
	}
	return refuse(Open, RuleBreaker, retry, problem{
		Type: "circuit-open", Status: http.StatusServiceUnavailable, Reason: d.Reason, Detail: detail,
	})
}

// crowded is the refusal of the pool.
func (s *stay) crowded(no *overload.Refusal) *refusal {
	detail := "There is more work than can be done now. The least important is refused first."
	switch no.Rule {
	case overload.RulePerCaller:
		detail = "The caller has as much work here as one caller may have at once."
	case overload.RuleDeadline:
		detail = "The work would not be done by the time that its caller gave it."
	}
	r := refuse(Shed, no.Rule, no.RetryAfter, problem{
		Type: "overloaded", Status: http.StatusServiceUnavailable, Reason: no.Reason, Detail: detail,
	})
	g := &r.grounds
	g.Limit, g.InFlight, g.Queued, g.Priority = int64(no.Limit), &no.InFlight, &no.Queued, no.Priority.String()
	return r
}

// quotaFields appends the fields about the caller's quotas.
func (s *stay) quotaFields(dst []h1.Field) []h1.Field {
	l := s.limitOf(s.decision.Quota)
	if l == nil {
		return dst
	}
	return append(dst,
		h1.Field{Name: policyField, Value: s.policy()},
		h1.Field{Name: limitField, Value: string(appendLimit(nil, l.Name, s.decision.Remaining, s.resets()))},
	)
}

// quotaLines is quotaFields, ready for the wire.
func (s *stay) quotaLines(b []byte) []byte {
	l := s.limitOf(s.decision.Quota)
	if l == nil {
		return b
	}
	b = h1.AppendField(b, policyField, s.policy())
	b = append(b, limitField+": "...)
	b = appendLimit(b, l.Name, s.decision.Remaining, s.resets())
	return append(b, "\r\n"...)
}

// resets is when there is more of the quota.
func (s *stay) resets() time.Duration {
	if s.decision.Allowed {
		return s.decision.Reset
	}
	return max(s.decision.RetryAfter, time.Second)
}

// policy lists the caller's quotas.
func (s *stay) policy() string {
	if s.over.Rate != 0 && s.over.Rate != 1 {
		var b []byte
		for i, l := range s.limits[:s.n] {
			if s.limitOf(l.index) == s.limits[i] {
				b = l.appendPolicy(b, s.over.Rate)
			}
		}
		return string(b)
	}
	if s.plan != nil {
		return s.plan.policy
	}
	return s.terms.policy
}
