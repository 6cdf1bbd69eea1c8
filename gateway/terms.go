package gateway

import (
	"crypto/sha256"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/internal/stale"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/shed"
	"github.com/bezoar-dev/bezoar/quota"
)

// terms are what a route, or a protected handler, asks of those who call it;
// ready to use. They never change.
type terms struct {
	route     string
	secret    [32]byte // of the hashes of callers
	client    *key     // nil: callers are not told apart
	limiter   *quota.Limiter
	limits    []limit // of everybody
	plans     []plan
	policy    string // of limits, for the RateLimit-Policy field; "" when it is not sent
	quiet     bool   // accepted answers do not speak of quotas
	cost      int64
	overrides func(route, caller, plan string) Override

	breaker *circuit.Breaker
	slow    time.Duration
	pool    *overload.Pool
	header  string // that may name a priority, in lower case
	usual   shed.Priority

	fallback []Fallback
	cache    *stale.Cache
	personal []string // headers that tell users apart, in lower case
	optional bool
}

// limit is a [Limit], ready to use.
type limit struct {
	quota.Quota
	index   int
	key     *key
	answers bool
}

// plan is a [Plan], ready to use.
type plan struct {
	Plan
	limits []limit
	policy string
}

// newTerms makes terms of what has been found valid. It returns nil when nothing
// is asked.
func newTerms(c *Config, r *Route, secret [32]byte) *terms {
	if r.Client == "" && len(r.Limits) == 0 && len(r.Plans) == 0 && r.Pool == nil && r.Breaker == nil && len(r.Fallback) == 0 &&
		r.Stale == nil && !r.Optional && c.Overrides == nil {
		return nil
	}
	t := &terms{
		route: r.name(), secret: secret, limiter: c.Limiter, quiet: c.HideLimits, cost: r.Cost, overrides: c.Overrides,
		breaker: r.Breaker, slow: r.Slow, pool: r.Pool, usual: r.Priority.Default,
		fallback: r.Fallback, cache: r.Stale, optional: r.Optional,
	}
	t.header = lowerName(r.Priority.Header)
	d := r.demands(c)
	t.client, _ = d.clientKey()
	t.ready(&d)
	return t
}

// ready compiles the limits.
func (t *terms) ready(d *demands) {
	if t.cost == 0 {
		t.cost = 1
	}
	var quotas []quota.Quota
	if t.limiter != nil {
		quotas = t.limiter.Quotas()
	}
	t.personal = []string{"authorization", "cookie"}
	t.learn(t.client)
	t.limits = t.compile(quotas, d.limits)
	t.policy = policyOf(t.limits)
	for _, p := range d.plans {
		limits := t.compile(quotas, p.Limits)
		t.plans = append(t.plans, plan{Plan: p, limits: limits, policy: policyOf(slices.Concat(t.limits, limits))})
	}
}

func (t *terms) compile(quotas []quota.Quota, limits []Limit) []limit {
	var out []limit
	for _, l := range limits {
		k, _ := parseKey(l.key(t.client), t.client)
		t.learn(k)
		out = append(out, limit{Quota: quotas[l.Quota].WithDefaults(), index: l.Quota, key: k, answers: l.Answers})
	}
	return out
}

// learn notes the headers that k looks at.
func (t *terms) learn(k *key) {
	if k == nil {
		return
	}
	for _, p := range k.parts {
		if p.kind == byHeader && !slices.Contains(t.personal, p.name) {
			t.personal = append(t.personal, p.name)
		}
	}
}

// policyOf lists the quotas of limits, each once.
func policyOf(limits []limit) string {
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

// appendPolicy describes the quota, with its limit multiplied. A token bucket is
// described by its size and the time that it takes to fill.
func (l *limit) appendPolicy(b []byte, scale float64) []byte {
	most, per := float64(l.Limit), float64(l.Per)
	if l.Burst > 0 {
		most, per = float64(l.Burst), per*float64(l.Burst)/float64(l.Limit)
	}
	return appendPolicy(b, l.Name, string(l.Unit), int64(max(most*scale, 1)), time.Duration(min(per, math.MaxInt64)))
}

func lowerName(header string) string { return strings.ReplaceAll(strings.ToLower(header), "_", "-") }

// secretOf makes the secret for the hashes of callers. It comes from the
// deployment's, of which a Printer's hashes are made, so that all nodes count
// under the same keys. The id has a byte that no caller's can have. Without a
// Printer it is own.
func secretOf(routes []Route, own [32]byte) [32]byte {
	for _, r := range routes {
		if r.Printer != nil {
			seed := r.Printer.Client("\x00whom quotas count")
			return sha256.Sum256(seed[:])
		}
	}
	return own
}
