package gateway

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/shed"
	"github.com/bezoar-dev/bezoar/quota"
)

// admission is the admission of one request by the policy of its route, from admit
// to release. Its zero value is ready.
//
//	admit ─► denied? ─► limits ─► breaker ─► pool ─► served ─► release
//	             │         │         │         │
//	             └─────────┴────┬────┴─────────┘
//	                            ▼
//	               a refusal, or a fallback's answer
type admission struct {
	policy   *routePolicy
	caller   string
	hash     uint64 // of caller; 0 when callers are not told apart
	plan     *plan  // of the caller; nil without one
	override Override
	charges  [maxCharges]quota.Charge
	limits   [maxCharges]*limit // of charges
	n        int                // of charges

	cost     int64 // units charged
	decision quota.Decision
	counted  bool // charges have been taken, and decision is about them

	ticket  breaker.Ticket
	allowed bool // ticket is owed to the breaker
	pass    overload.Pass
	entered bool          // pass is owed to the pool
	waited  time.Duration // for the pass

	began   time.Time // being served
	head    time.Time // when the answer began; zero when it has not
	outcome outcome

	continuing bool        // the answer has begun and goes on
	streaming  bool        // it is a stream: it says nothing to pool and breaker
	probe      *probeWatch // of ticket, while the answer goes on; nil: none
}

// outcome is how being served ended, for those who learn from it.
type outcome struct {
	failed  bool // the downstream's failure
	dropped bool // it was too busy
	ignored bool // says nothing about the downstream
}

// requestInfo is what admission needs to know of a request besides who calls.
type requestInfo struct {
	now      time.Time
	deadline time.Time // of the caller; zero: none
	length   int64     // of the body, declared; -1 when it is not known
	stream   bool      // the caller wants a stream and nothing else
}

// admit decides about a request, before its body is read. A nil refusal means
// that it may go on, and that release is owed; so it is after a refusal.
func (s *admission) admit(ctx context.Context, t *routePolicy, m *clientCache, a clientIdentity, at requestInfo) *refusal {
	s.policy = t
	if t.client != nil {
		s.caller = t.client.id(m, a, t.route)
		sum, err := t.client.sum(&t.secret, m, a, t.route)
		if err != nil {
			return s.ambiguousClient()
		}
		s.hash = binary.LittleEndian.Uint64(sum[:])
	}
	for i := range t.plans {
		if p := &t.plans[i]; p.Callers == nil || p.Callers(s.caller) {
			s.plan = p
			break
		}
	}
	if t.overrides != nil {
		if s.override = t.overrides(t.route, s.caller, s.planName()); s.override.Deny {
			return s.denied(at.now)
		}
	}
	if r := s.count(m, a, at); r != nil {
		return r
	}
	if t.breaker != nil {
		ticket, d := t.breaker.Allow(ctx, at.now)
		if !d.Allowed {
			return s.breakerOpen(d)
		}
		s.ticket, s.allowed = ticket, true
	}
	if t.pool != nil {
		return s.enterPool(ctx, a, at)
	}
	return nil
}

func (s *admission) planName() string {
	if s.plan == nil {
		return ""
	}
	return s.plan.Name
}

// count charges the request to all its quotas, or to none.
func (s *admission) count(m *clientCache, a clientIdentity, at requestInfo) *refusal {
	if err := s.charge(s.policy.limits, m, a, at); err != nil {
		return s.ambiguousClient()
	}
	if s.plan != nil {
		if err := s.charge(s.plan.limits, m, a, at); err != nil {
			return s.ambiguousClient()
		}
	}
	if s.n == 0 {
		return nil
	}
	s.decision = s.policy.limiter.Admit(at.now, s.charges[:s.n])
	s.counted = s.decision.Allowed
	if !s.decision.Allowed {
		return s.quotaExceeded(at.now)
	}
	return nil
}

func (s *admission) charge(limits []limit, m *clientCache, a clientIdentity, at requestInfo) error {
	for i := range limits {
		l := &limits[i]
		k, err := l.key.sum(&s.policy.secret, m, a, s.policy.route)
		if err != nil {
			return err
		}
		n := int64(1)
		switch l.Unit {
		case quota.Bytes:
			n = max(at.length, 0)
		case quota.Cost:
			n = s.policy.cost
			s.cost = n
		}
		s.charges[s.n] = quota.Charge{Quota: l.index, Key: k, N: n, Scale: s.override.Rate}
		s.limits[s.n] = l
		s.n++
	}
	return nil
}

// chargeQuery charges what a query costs beyond what was charged when it came, to all
// quotas of cost or to none.
func (s *admission) chargeQuery(now time.Time, units int64) *refusal {
	if s.policy == nil || units <= s.cost {
		return nil
	}
	var more [maxCharges]quota.Charge
	n := 0
	for i := range s.n {
		if s.limits[i].Unit == quota.Cost {
			more[n] = s.charges[i]
			more[n].N = units - s.cost
			n++
		}
	}
	if n == 0 {
		return nil
	}
	d := s.policy.limiter.Admit(now, more[:n])
	if d.Allowed {
		s.cost = units
		return nil
	}
	s.decision = d
	return s.quotaExceeded(now)
}

// enterPool takes a place in the pool.
func (s *admission) enterPool(ctx context.Context, a clientIdentity, at requestInfo) *refusal {
	pass, no := s.policy.pool.Enter(ctx, overload.Request{Priority: s.priority(a), Caller: s.hash, Deadline: at.deadline, Share: s.override.Concurrency, Stream: at.stream})
	if no != nil {
		s.waited = time.Since(at.now)
		return s.poolFull(no)
	}
	s.pass, s.entered, s.waited = pass, true, pass.Waited()
	return nil
}

// priority is how important the request is: as an operator says, or its header,
// its caller's plan, or the route.
func (s *admission) priority(a clientIdentity) shed.Priority {
	if s.override.Priority != nil {
		return *s.override.Priority
	}
	if h := s.policy.priorityHeader; h != "" {
		if v, clear := a.field(h); clear && v != "" {
			if p, err := shed.ParsePriority(v); err == nil {
				return p
			}
		}
	}
	if s.plan != nil && s.plan.Priority != nil {
		return *s.plan.Priority
	}
	return s.policy.defaultPriority
}

// chargeTransfer charges what is known only afterwards: the bytes of a body of unknown
// length, and of the answer.
func (s *admission) chargeTransfer(now time.Time, length, in, out int64) {
	if !s.counted {
		return
	}
	for i := range s.n {
		l := s.limits[i]
		if l.Unit != quota.Bytes {
			continue
		}
		c := s.charges[i]
		c.N = max(in-max(length, 0), 0)
		if l.answers {
			c.N += out
		}
		if c.N > 0 {
			s.policy.limiter.Add(now, c)
		}
	}
}

// release gives back what admit took, and reports how it went.
func (s *admission) release(now time.Time) {
	if s.policy == nil {
		return
	}
	took := time.Duration(0)
	if !s.began.IsZero() {
		took = now.Sub(s.began)
		if !s.head.IsZero() {
			took = s.head.Sub(s.began) // the rest is the caller's pace too
		}
	}
	wentOn := s.wentOn(now)
	if s.entered {
		s.policy.pool.Leave(s.pass, shed.Outcome{
			Latency: took, Dropped: s.outcome.dropped, Ignored: wentOn || s.outcome.ignored || s.began.IsZero() || s.outcome.failed && !s.outcome.dropped,
		})
		s.entered = false
	}
	s.probe.stop()
	if s.allowed && s.probe.claim() {
		slow := !wentOn && s.policy.slow > 0 && took > s.policy.slow
		s.policy.breaker.Done(now, s.ticket, breaker.Result{
			Failed: s.outcome.failed && !s.outcome.ignored, Slow: slow, Ignored: wentOn || s.began.IsZero() || s.outcome.ignored && !slow,
		})
	}
	s.allowed = false
}
