package admission

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/shed"
	"github.com/bezoar-dev/bezoar/quota"
)

// Admission is the admission of one request by the policy of its route, from Admit
// to Release. Its zero value is ready.
//
//	Admit ─► denied? ─► limits ─► breaker ─► pool ─► served ─► Release
//	             │         │         │         │
//	             └─────────┴────┬────┴─────────┘
//	                            ▼
//	               a refusal, or a fallback's answer
type Admission struct {
	Policy   *Policy
	Caller   string
	Hash     uint64 // of caller; 0 if callers are not told apart
	plan     *plan  // of the caller; nil: none
	override Override
	charges  [maxCharges]quota.Charge
	limits   [maxCharges]*limit // whose quotas are charged
	n        int                // length of limits

	Cost     int64 // units charged
	decision quota.Decision
	Counted  bool // the quotas are charged, and decision is about them

	ticket  breaker.Ticket
	allowed bool // ticket must be given back to the breaker
	pass    overload.Pass
	entered bool          // pass must be given back to the pool
	Waited  time.Duration // for the pass

	Began   time.Time // being served
	Head    time.Time // when the answer began; zero: not yet
	Outcome Outcome

	continuing bool        // the answer has begun and is not complete
	streaming  bool        // it is a stream: pool and breaker learn nothing from it
	probe      *probeWatch // of ticket, while the answer goes on; nil: none
}

// Outcome is how the request ended, for pool and breaker.
type Outcome struct {
	Failed  bool // the downstream failed
	Dropped bool // the downstream was too busy
	Ignored bool // this says nothing about the downstream
}

// Request is what admission needs to know of a request, besides the caller.
type Request struct {
	Now      time.Time
	Deadline time.Time // of the caller; zero: none
	Length   int64     // of the body, as declared; -1: unknown
	Stream   bool      // the caller wants a stream and nothing else
}

// Admit decides about a request before its body is read. A nil refusal means that it may go on. In either case the caller
// must call Release.
func (s *Admission) Admit(ctx context.Context, t *Policy, m *ClientCache, a Identity, at Request) *Refusal {
	s.Policy = t
	if t.client != nil {
		s.Caller = t.client.ID(m, a, t.Route)
		sum, err := t.client.sum(&t.secret, m, a, t.Route)
		if err != nil {
			return s.ambiguousClient()
		}
		s.Hash = binary.LittleEndian.Uint64(sum[:])
	}
	for i := range t.plans {
		if p := &t.plans[i]; p.Callers == nil || p.Callers(s.Caller) {
			s.plan = p
			break
		}
	}
	if t.overrides != nil {
		if s.override = t.overrides(t.Route, s.Caller, s.PlanName()); s.override.Deny {
			return s.denied(at.Now)
		}
	}
	if r := s.count(m, a, at); r != nil {
		return r
	}
	if t.breaker != nil {
		ticket, d := t.breaker.Allow(ctx, at.Now)
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

// PlanName returns the name of the caller's plan; "" for none.
func (s *Admission) PlanName() string {
	if s.plan == nil {
		return ""
	}
	return s.plan.Name
}

// count charges all quotas of the request, or none.
func (s *Admission) count(m *ClientCache, a Identity, at Request) *Refusal {
	if err := s.charge(s.Policy.limits, m, a, at); err != nil {
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
	s.decision = s.Policy.limiter.Admit(at.Now, s.charges[:s.n])
	s.Counted = s.decision.Allowed
	if !s.decision.Allowed {
		return s.quotaExceeded(at.Now)
	}
	return nil
}

func (s *Admission) charge(limits []limit, m *ClientCache, a Identity, at Request) error {
	for i := range limits {
		l := &limits[i]
		k, err := l.key.sum(&s.Policy.secret, m, a, s.Policy.Route)
		if err != nil {
			return err
		}
		n := int64(1)
		switch l.Unit {
		case quota.Bytes:
			n = max(at.Length, 0)
		case quota.Cost:
			n = s.Policy.cost
			s.Cost = n
		}
		s.charges[s.n] = quota.Charge{Quota: l.index, Key: k, N: n, Scale: s.override.Rate}
		s.limits[s.n] = l
		s.n++
	}
	return nil
}

// ChargeQuery charges the cost of a query beyond what was charged at admission, to all quotas of cost or to none.
func (s *Admission) ChargeQuery(now time.Time, units int64) *Refusal {
	if s.Policy == nil || units <= s.Cost {
		return nil
	}
	var more [maxCharges]quota.Charge
	n := 0
	for i := range s.n {
		if s.limits[i].Unit == quota.Cost {
			more[n] = s.charges[i]
			more[n].N = units - s.Cost
			n++
		}
	}
	if n == 0 {
		return nil
	}
	d := s.Policy.limiter.Admit(now, more[:n])
	if d.Allowed {
		s.Cost = units
		return nil
	}
	s.decision = d
	return s.quotaExceeded(now)
}

// enterPool takes a place in the pool.
func (s *Admission) enterPool(ctx context.Context, a Identity, at Request) *Refusal {
	pass, no := s.Policy.pool.Enter(ctx, overload.Request{Priority: s.priority(a), Caller: s.Hash, Deadline: at.Deadline, Share: s.override.Concurrency, Stream: at.Stream})
	if no != nil {
		s.Waited = time.Since(at.Now)
		return s.poolFull(no)
	}
	s.pass, s.entered, s.Waited = pass, true, pass.Waited()
	return nil
}

// priority returns the priority of the request: from an operator, else its header, else its caller's plan, else the route.
func (s *Admission) priority(a Identity) shed.Priority {
	if s.override.Priority != nil {
		return *s.override.Priority
	}
	if h := s.Policy.priorityHeader; h != "" {
		if v, clear := a.HeaderValue(h); clear && v != "" {
			if p, err := shed.ParsePriority(v); err == nil {
				return p
			}
		}
	}
	if s.plan != nil && s.plan.Priority != nil {
		return *s.plan.Priority
	}
	return s.Policy.defaultPriority
}

// ChargeTransfer charges what is known only afterwards: the bytes of a body of unknown length, and of the answer.
func (s *Admission) ChargeTransfer(now time.Time, length, in, out int64) {
	if !s.Counted {
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
			s.Policy.limiter.Add(now, c)
		}
	}
}

// Release gives back what Admit took, and reports the outcome.
func (s *Admission) Release(now time.Time) {
	if s.Policy == nil {
		return
	}
	took := time.Duration(0)
	if !s.Began.IsZero() {
		took = now.Sub(s.Began)
		if !s.Head.IsZero() {
			took = s.Head.Sub(s.Began) // the rest depends on the caller's speed
		}
	}
	wentOn := s.wentOn(now)
	if s.entered {
		s.Policy.pool.Leave(s.pass, shed.Outcome{
			Latency: took, Dropped: s.Outcome.Dropped, Ignored: wentOn || s.Outcome.Ignored || s.Began.IsZero() || s.Outcome.Failed && !s.Outcome.Dropped,
		})
		s.entered = false
	}
	s.probe.stop()
	if s.allowed && s.probe.claim() {
		slow := !wentOn && s.Policy.slow > 0 && took > s.Policy.slow
		s.Policy.breaker.Done(now, s.ticket, breaker.Result{
			Failed: s.Outcome.Failed && !s.Outcome.Ignored, Slow: slow, Ignored: wentOn || s.Began.IsZero() || s.Outcome.Ignored && !slow,
		})
	}
	s.allowed = false
}
