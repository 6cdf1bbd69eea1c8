package gateway

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
	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
	"github.com/bezoar-dev/bezoar/internal/gateway/stale"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/quota"
)

// Protection is what [Protect] puts in front of a handler: the limits of a [Route]
// for a server written in Go. Fields that both have mean the same. Its zero value
// asks nothing.
type Protection struct {
	Name string // for problem documents, keys and records; default "/*"

	Client   string
	Limits   []admission.Limit
	Plans    []admission.Plan
	Cost     int64
	Breaker  *circuit.Breaker // of the handler: a 5xx and a panic are failures
	Slow     time.Duration
	Pool     *overload.Pool
	Priority admission.PriorityRule
	Fallback []HandlerFallback // for "open" and "shed"
	Optional bool
	Stale    *AnswerCache

	Limiter        *quota.Limiter
	HideLimits     bool
	Overrides      func(route, caller, plan string) admission.Override
	TrustedProxies []netip.Prefix

	// Key keys the hashes of callers. Processes that share quotas need the
	// same. Default: random.
	Key [32]byte
	// Observe is called once for every request, when it has ended. It must be
	// quick, and must not keep the Record.
	Observe func(*accesslog.Record)
}

// Validate reports every fault, each with its field.
func (p Protection) Validate() error {
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

// HandlerFallback is what is answered when the handler cannot be asked. One of Static,
// Stale and Handler is set.
type HandlerFallback struct {
	On      []admission.FallbackCause // empty: all
	Static  *admission.Static         // always the same
	Stale   *admission.Stale          // the last good answer to the same GET
	Handler http.Handler              // what another handler says
}

// admission is what p asks of those who call.
func (p *Protection) admission() admission.Config {
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

// Protect returns middleware that admits requests to a handler as a gateway does
// to a fleet: with the same limits, refusals, fields and problem documents. It
// returns every fault of p.
//
// Handlers can flush, hijack and set deadlines through the ResponseWriter that
// they get, as far as the server's can.
func Protect(p Protection) (func(http.Handler) http.Handler, error) {
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
		g.requests.New = func() any { return &protectedRequest{p: g} }
		return g
	}, nil
}

// protector is a handler behind its policy.
type protector struct {
	policy   *admission.Policy
	fallback []HandlerFallback
	proxies  []netip.Prefix
	observe  func(*accesslog.Record)
	next     http.Handler
	requests sync.Pool // of *protectedRequest
}

// ServeHTTP admits the request and has the next handler answer it.
func (p *protector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := p.requests.Get().(*protectedRequest)
	v.begin(w, r)
	defer v.end()
	v.serve()
	v.returned = true
}

// AnswerCache keeps the last good answers for the fallbacks of routes and protected handlers.
type AnswerCache = stale.Cache

// AnswerCacheConfig bounds [AnswerCache].
type AnswerCacheConfig = stale.Config

// NewAnswerCache returns an empty cache, or every fault of cfg.
func NewAnswerCache(cfg AnswerCacheConfig) (*AnswerCache, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("answer cache: %w", err)
	}
	return stale.New(cfg), nil
}
