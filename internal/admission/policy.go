package admission

import (
	"math"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/stale"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/shed"
	"github.com/bezoar-dev/bezoar/quota"
)

// Policy is a compiled [Config]. It never changes.
type Policy struct {
	Route           string
	secret          [32]byte // of the hashes of callers
	client          *Key     // nil: callers are not told apart
	limiter         *quota.Limiter
	limits          []limit // of the route
	plans           []plan
	rateLimitPolicy string // of limits, for the RateLimit-Policy field; "": not sent
	HideLimits      bool   // accepted answers have no fields about quotas
	cost            int64
	overrides       func(route, caller, plan string) Override

	breaker         *circuit.Breaker
	slow            time.Duration
	pool            *overload.Pool
	long            time.Duration // an answer that takes longer is a stream
	priorityHeader  string        // the header that may name a priority, in lower case
	defaultPriority shed.Priority

	Cache           *stale.Cache
	IdentityHeaders []string // headers that identify users, in lower case
	Optional        bool
}

type limit struct {
	quota.Quota
	index   int
	key     *Key
	answers bool
}

type plan struct {
	Plan
	limits          []limit
	rateLimitPolicy string
}

// NewPolicy compiles a valid configuration. It returns nil if the configuration admits everything.
func NewPolicy(d Config, secret [32]byte) *Policy {
	if d.asksNothing() {
		return nil
	}
	t := &Policy{
		Route: d.Route, secret: secret, limiter: d.Limiter, HideLimits: d.HideLimits, cost: d.Cost, overrides: d.Overrides,
		breaker: d.Breaker, slow: d.Slow, pool: d.Pool, defaultPriority: d.Priority.Default,
		Cache: d.Stale, Optional: d.Optional,
	}
	t.long = overload.DefaultLong
	if d.Pool != nil {
		t.long = d.Pool.Long()
	}
	t.priorityHeader = h1.LowerName(d.Priority.Header)
	t.client, _ = d.clientKey()
	t.compileLimits(&d)
	return t
}

func (t *Policy) compileLimits(d *Config) {
	if t.cost == 0 {
		t.cost = 1
	}
	var quotas []quota.Quota
	if t.limiter != nil {
		quotas = t.limiter.Quotas()
	}
	t.IdentityHeaders = []string{"authorization", "cookie"}
	t.noteHeaders(t.client)
	t.limits = t.compile(quotas, d.Limits)
	t.rateLimitPolicy = rateLimitPolicyOf(t.limits)
	for _, p := range d.Plans {
		limits := t.compile(quotas, p.Limits)
		t.plans = append(t.plans, plan{Plan: p, limits: limits, rateLimitPolicy: rateLimitPolicyOf(slices.Concat(t.limits, limits))})
	}
}

func (t *Policy) compile(quotas []quota.Quota, limits []Limit) []limit {
	var out []limit
	for _, l := range limits {
		k, _ := ParseKey(l.key(t.client), t.client)
		t.noteHeaders(k)
		out = append(out, limit{Quota: quotas[l.Quota].WithDefaults(), index: l.Quota, key: k, answers: l.Answers})
	}
	return out
}

// noteHeaders records the headers that k uses.
func (t *Policy) noteHeaders(k *Key) {
	if k == nil {
		return
	}
	for _, p := range k.parts {
		if p.kind == byHeader && !slices.Contains(t.IdentityHeaders, p.name) {
			t.IdentityHeaders = append(t.IdentityHeaders, p.name)
		}
	}
}

// rateLimitPolicyOf describes the quotas of limits, each once.
func rateLimitPolicyOf(limits []limit) string {
	var b []byte
	seen := make(map[int]bool)
	for _, l := range limits {
		if !seen[l.index] {
			seen[l.index] = true
			b = l.appendPolicy(b, 1)
		}
	}
	return string(b)
}

// appendPolicy describes the quota, with its limit multiplied by scale. A token bucket is described by its size and the
// time that it takes to fill.
func (l *limit) appendPolicy(b []byte, scale float64) []byte {
	most, per := float64(l.Limit), float64(l.Per)
	if l.Burst > 0 {
		most, per = float64(l.Burst), per*float64(l.Burst)/float64(l.Limit)
	}
	return appendPolicy(b, l.Name, string(l.Unit), int64(max(most*scale, 1)), time.Duration(min(per, math.MaxInt64)))
}
