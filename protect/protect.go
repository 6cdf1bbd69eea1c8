package protect

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/quota"
)

// Config holds the rules for requests to a handler. Its zero value admits everything.
type Config struct {
	Name string // for problem documents, keys and records; default "/*"

	Client   string           // what identifies callers, in the form of a Limit's Key; "": nothing
	Limits   []Limit          // rates for everybody
	Plans    []Plan           // the first one with the caller applies, in addition to Limits
	Cost     int64            // units of one request in quotas of cost; default 1
	Breaker  *circuit.Breaker // of the handler: 5xx and panics are failures
	Slow     time.Duration    // an answer that begins later is slow for the breaker; 0: none is slow
	Pool     *overload.Pool   // nil: no limit on requests at once
	Priority PriorityRule     // in the pool
	Fallback []Fallback       // tried in order when the breaker or the pool refuses
	// Optional answers an empty 204 with the field X-Bezoar-Degraded if no Fallback applies to the cause.
	Optional bool
	Stale    *AnswerCache // keeps the good answers to GETs, for a Fallback

	Limiter    *quota.Limiter // of all Limits
	HideLimits bool           // only refusals have fields about quotas
	// Overrides returns the current override for a caller and its plan. It is called for every request, concurrently.
	Overrides      func(route, caller, plan string) Override
	TrustedProxies []netip.Prefix // proxies whose X-Forwarded-For and Forwarded are believed

	// Key keys the hashes of callers. Processes that share quotas need the same Key. Default: random.
	Key [32]byte
	// Observe is called once for every request, when it has ended. It must be quick, must be safe for concurrent use, and
	// must not keep the Record.
	Observe func(*Record)
}

// Validate reports every fault, each with its field.
func (p Config) Validate() error {
	d := p.admission()
	errs := d.Faults()
	if p.Cost < 0 || p.Slow < 0 {
		errs = append(errs, errors.New("Cost or Slow is negative"))
	}
	for i, f := range p.Fallback {
		if f.Stale != nil && p.Stale == nil {
			errs = append(errs, fmt.Errorf("Fallback[%d].Stale is set, and Stale is nil", i))
		}
	}
	return errors.Join(errs...)
}

// Fallback is the answer if the handler cannot be called. Exactly one of Static, Stale and Handler is set.
type Fallback struct {
	On      []FallbackCause // empty: all
	Static  *Static         // always the same
	Stale   *Stale          // the last good answer to the same GET
	Handler http.Handler    // another handler answers
}

func (p *Config) admission() admission.Config {
	d := admission.Config{
		Route: cmp.Or(p.Name, "/*"), Client: p.Client, Limits: p.Limits, Plans: p.Plans, Cost: p.Cost, Breaker: p.Breaker, Slow: p.Slow,
		Pool: p.Pool, Priority: p.Priority, Other: "Handler", Stale: p.Stale, Optional: p.Optional,
		Limiter: p.Limiter, HideLimits: p.HideLimits, Overrides: p.Overrides,
	}
	for _, f := range p.Fallback {
		d.Fallback = append(d.Fallback, admission.Fallback{On: f.On, Static: f.Static, Stale: f.Stale, Other: f.Handler != nil})
	}
	return d
}

// New returns middleware that admits requests to a handler as a gateway admits requests to a fleet: with the same limits,
// refusals, fields and problem documents. It returns every fault of p.
//
// Handlers can flush, hijack and set deadlines through their ResponseWriter, as far as the server's ResponseWriter can.
func New(p Config) (func(http.Handler) http.Handler, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("protect %s: %w", p.Name, err)
	}
	if p.Key == [32]byte{} {
		_, _ = rand.Read(p.Key[:]) // never fails
	}
	t := admission.NewPolicy(p.admission(), p.Key)
	if t == nil {
		t = &admission.Policy{Route: cmp.Or(p.Name, "/*")}
	}
	return func(next http.Handler) http.Handler {
		g := &protector{policy: t, fallback: p.Fallback, proxies: p.TrustedProxies, observe: p.Observe, next: next}
		g.requests.New = func() any { return &request{p: g} }
		return g
	}, nil
}

// protector is a handler with its policy.
type protector struct {
	policy   *admission.Policy
	fallback []Fallback
	proxies  []netip.Prefix
	observe  func(*Record)
	next     http.Handler
	requests sync.Pool // of *request
}

// ServeHTTP admits the request and lets the next handler answer it.
func (p *protector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := p.requests.Get().(*request)
	v.begin(w, r)
	defer v.end()
	v.serve()
	v.returned = true
}
