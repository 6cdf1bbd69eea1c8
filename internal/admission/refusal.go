package admission

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/problem"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

// These rules refuse a request before its body is read. Records and problem documents name them. The rule of a quota is
// "rate:" and its name; a pool's rules are those of package overload.
const (
	RuleDenied   = "denied"
	RuleBreaker  = "breaker"
	RuleRepeated = "repeated-header"
	ruleRate     = "rate:"
)

// Refusal is why a request is not served, and what its caller gets.
type Refusal struct {
	Cause FallbackCause // "": no fallback applies
	Retry time.Duration // 0: unknown
	Body  RefusalBody
}

// RefusalBody is a problem document that names rule, limit, value and time.
type RefusalBody struct {
	problem.Document
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

func refuse(cause FallbackCause, rule string, retry time.Duration, p problem.Document) *Refusal {
	r := &Refusal{Cause: cause, Retry: retry, Body: RefusalBody{Document: p, Rule: rule}}
	r.Body.RetryAfter = float64(retry.Round(time.Millisecond)) / float64(time.Second)
	return r
}

// Document returns the body. id is the request's id.
func (r *Refusal) Document(id string) []byte {
	g := &r.Body
	g.Type = problem.Prefix + g.Type
	g.Title = http.StatusText(g.Status)
	g.Instance = id
	body, err := json.Marshal(g)
	if err != nil { // strings and numbers always encode
		return nil
	}
	return append(body, '\n')
}

// Fields appends the field that says when to come back.
func (r *Refusal) Fields(dst []h1.Field) []h1.Field {
	if r.Retry > 0 {
		dst = append(dst, h1.Field{Name: "Retry-After", Value: strconv.FormatInt(max(seconds(r.Retry), 1), 10)})
	}
	return dst
}

// until formats a time in whole seconds, rounded up, so that callers do not come back too early.
func until(t time.Time) string {
	return t.Add(time.Second - 1).Truncate(time.Second).UTC().Format(time.RFC3339)
}

// denied is the refusal by an operator's override.
func (s *Admission) denied(now time.Time) *Refusal {
	p := problem.Document{
		Type: "denied", Status: http.StatusForbidden, Reason: s.override.Reason,
		Detail: "An operator decided that requests like this one are refused for now.",
	}
	var left time.Duration
	if !s.override.Until.IsZero() {
		left = max(s.override.Until.Sub(now), time.Second)
		p.Until = until(s.override.Until)
	}
	return refuse("", RuleDenied, left, p)
}

// ambiguousClient is the refusal of a request that names two callers.
func (s *Admission) ambiguousClient() *Refusal {
	return refuse("", RuleRepeated, 0, problem.Document{
		Type: "repeated-header", Status: http.StatusBadRequest,
		Detail: "A header that identifies the caller is repeated with another value, so it is unclear who the caller is.",
	})
}

// quotaExceeded is the refusal by a quota.
func (s *Admission) quotaExceeded(now time.Time) *Refusal {
	d := &s.decision
	l := s.limitOf(d.Quota)
	if l == nil {
		return refuse("", ruleRate, d.RetryAfter, problem.Document{Type: "rate-limited", Status: http.StatusTooManyRequests})
	}
	p := problem.Document{Type: "rate-limited", Status: http.StatusTooManyRequests}
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
		p.Detail = fmt.Sprintf("%s: this request exceeds it by %d. Try again in %v.", what, d.Excess, retry.Round(time.Millisecond))
	}
	r := refuse("", ruleRate+l.Name, retry, p)
	g := &r.Body
	g.Quota, g.Violated, g.Unit = l.Name, []string{l.Name}, string(l.Unit)
	g.Limit, g.Used, g.Excess, g.Window = d.Limit, &d.Used, d.Excess, l.Per.String()
	return r
}

// limitOf returns the limit that charges the quota.
func (s *Admission) limitOf(index int) *limit {
	for _, l := range s.limits[:s.n] {
		if l.index == index {
			return l
		}
	}
	return nil
}

// breakerOpen is the refusal by the circuit breaker. Callers come back at random within half as much time again, and within
// at least a second.
func (s *Admission) breakerOpen(d breaker.Decision) *Refusal {
	retry := max(d.RetryAfter, time.Second)
	retry += rand.N(retry/2 + 1)
	detail := "The service behind this has failed too often. It gets time to recover."
	if d.Forced {
		detail = "An operator has stopped requests to the service behind this for now."
	}
	return refuse(Open, RuleBreaker, retry, problem.Document{
		Type: "circuit-open", Status: http.StatusServiceUnavailable, Reason: d.Reason, Detail: detail,
	})
}

// poolFull is the refusal by the pool.
func (s *Admission) poolFull(no *overload.Refusal) *Refusal {
	detail := "There is more work than can be done now. The least important work is refused first."
	switch no.Rule {
	case overload.RulePerCaller:
		detail = "The caller has as many requests in progress as one caller may have."
	case overload.RuleStreams:
		detail = "The largest allowed number of streams is open."
	case overload.RuleDeadline:
		detail = "The work would not be done before the caller's deadline."
	}
	r := refuse(Shed, no.Rule, no.RetryAfter, problem.Document{
		Type: "overloaded", Status: http.StatusServiceUnavailable, Reason: no.Reason, Detail: detail,
	})
	g := &r.Body
	g.Limit, g.InFlight, g.Queued, g.Priority = int64(no.Limit), &no.InFlight, &no.Queued, no.Priority.String()
	return r
}

// QuotaFields appends the fields about the caller's quotas.
func (s *Admission) QuotaFields(dst []h1.Field) []h1.Field {
	l := s.limitOf(s.decision.Quota)
	if l == nil {
		return dst
	}
	return append(dst,
		h1.Field{Name: PolicyField, Value: s.policyHeader()},
		h1.Field{Name: LimitField, Value: string(appendLimit(nil, l.Name, s.decision.Remaining, s.resetAfter()))},
	)
}

// QuotaLines returns QuotaFields as lines for the wire.
func (s *Admission) QuotaLines(b []byte) []byte {
	l := s.limitOf(s.decision.Quota)
	if l == nil {
		return b
	}
	b = h1.AppendField(b, PolicyField, s.policyHeader())
	b = append(b, LimitField+": "...)
	b = appendLimit(b, l.Name, s.decision.Remaining, s.resetAfter())
	return append(b, "\r\n"...)
}

// resetAfter returns the time until the quota has more.
func (s *Admission) resetAfter() time.Duration {
	if s.decision.Allowed {
		return s.decision.Reset
	}
	return max(s.decision.RetryAfter, time.Second)
}

// policyHeader lists the caller's quotas.
func (s *Admission) policyHeader() string {
	if s.override.Rate != 0 && s.override.Rate != 1 {
		var b []byte
		for i, l := range s.limits[:s.n] {
			if s.limitOf(l.index) == s.limits[i] {
				b = l.appendPolicy(b, s.override.Rate)
			}
		}
		return string(b)
	}
	if s.plan != nil {
		return s.plan.rateLimitPolicy
	}
	return s.Policy.rateLimitPolicy
}
