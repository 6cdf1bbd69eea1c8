package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/span"
	"github.com/bezoar-dev/bezoar/internal/gateway/stale"
	"github.com/bezoar-dev/bezoar/internal/gateway/urlpath"
	"github.com/bezoar-dev/bezoar/internal/guardfront"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/blame"
	"github.com/bezoar-dev/bezoar/quota"
)

// Defaults of [Config] and [Route].
const (
	DefaultBuffer        = 64 << 10
	DefaultMaxBuffered   = 64 << 20
	DefaultTimeout       = 30 * time.Second
	DefaultUploadTimeout = time.Hour
)

// Replay says which requests may run again after their first byte has left.
type Replay string

// The replay policies.
const (
	ReplayIdempotent Replay = "idempotent" // by method, or with an Idempotency-Key; the default
	ReplayAll        Replay = "all"
	ReplayNone       Replay = "none"
)

// Config describes a gateway. Only Routes is required.
type Config struct {
	Routes []Route

	// TrustedProxies may name the caller in X-Forwarded-… fields. These fields of all other peers are replaced.
	TrustedProxies []netip.Prefix
	// MaxBuffered bounds the body bytes held for all requests together. Bodies beyond it stream, and cannot be replayed.
	// Default 64 MiB.
	MaxBuffered int64
	// Redact names further headers and query parameters whose values are kept out of dead letters. Each is a part of the
	// name, in any case.
	Redact []string
	Log    *slog.Logger // default: none

	// Observe is called once for every request, when it has ended and before the next one on its connection. It must be
	// quick, and must not keep the Record.
	Observe func(*accesslog.Record)
	// Trace gets every request and attempt. nil: a caller's valid traceparent is passed on, and no spans are made.
	Trace span.Tracer

	Limiter    *quota.Limiter // of all routes' Limits
	HideLimits bool           // only refusals have fields about quotas
	// Overrides returns the current override for a caller, identified by the route's key, and for its plan. It is called
	// for every request.
	Overrides func(route, caller, plan string) admission.Override
}

// Route sends the requests it matches to one fleet.
type Route struct {
	Name string // for verdicts and events; default Path

	// Path matches exactly, or with a trailing * every path that begins in this way: "/search/*". Empty matches all. Paths
	// says what happens to paths that servers read in different ways; other paths reach the worker unchanged.
	Path    string
	Hosts   []string // "example.com", "*.example.com"; empty matches all
	Methods []string // empty matches all but TRACE and TRACK

	Paths      PathMode      // default PathsNormalise
	Lookalikes LookalikeMode // default LookalikesDrop

	// Known gets the secrets of requests, to remove them from the output of the workers; nil: the output is not read.
	Known *redact.Values

	Doer    Doer    // required, without Enqueue and Redirect
	Printer Printer // required, without Enqueue and Redirect

	Redirect *Redirect // instead of a Doer

	// Enqueue answers 202 and puts the request on a queue, instead of using a Doer. The body must fit into Buffer. The last
	// such route's Enqueuer answers status questions for all routes of a gateway.
	Enqueue Enqueuer

	// StripPrefix is removed from the path for the worker: with /api, /api/x becomes /x. It does not change the identity of
	// the work. The worker gets it in X-Forwarded-Prefix.
	StripPrefix string
	// Base is put before the path for the worker, after StripPrefix is removed.
	Base    string
	Request Edit // of the fields for the worker
	Answer  Edit // of the fields of the worker's answer

	Replay Replay
	Buffer int // body bytes held for the fingerprint and for replay; default 64 KiB
	// BufferAnswer is how much of an answer is held in memory for a caller that is slower than the worker; the rest is held
	// on disk. 0: the worker waits.
	BufferAnswer int
	// BufferBody is the longest body that is read completely before a worker is asked, on disk beyond Buffer, and sent with
	// its length. Longer ones stream, or get 413 if they have no length. 0: bodies beyond Buffer stream.
	BufferBody int64
	MaxBody    int64           // longer bodies get 413; 0: no limit
	Timeout    time.Duration   // until the answer begins; while a body streams, between signs of progress; default 30 s
	Upload     time.Duration   // until the answer begins, while a body streams; default 1 h
	Client     string          // what identifies callers, in the form of a Limit's Key; "": nothing
	Rule       *blame.Rule     // of conviction; nil: the ledger's
	Retry      *dispatch.Retry // bounds and budget of retries; nil: the dispatcher's
	Off        bool            // no quarantine
	// StreamIdle and StreamTotal bound answers that have begun: the time without any data, and the total time. Then both
	// connections are cut. 0: no bound.
	StreamIdle, StreamTotal time.Duration
	// HalfClose says that callers who have finished sending wait for their answer. A caller that hangs up in an orderly way
	// looks the same, so it is noticed only when the answer is sent. It applies to HTTP/1.1.
	HalfClose bool

	// The following is checked before the body is read.

	Limits   []admission.Limit      // rates for everybody
	Plans    []admission.Plan       // the first one with the caller applies, in addition to Limits
	Cost     int64                  // units of one request in quotas of cost; default 1
	Breaker  *circuit.Breaker       // nil: none
	Slow     time.Duration          // an answer that begins later is slow for the breaker; 0: none is slow
	Pool     *overload.Pool         // nil: no limit on requests at once
	Priority admission.PriorityRule // in the pool

	// Fallback is tried in order when the breaker or the pool refuses, or there is no worker.
	Fallback []Fallback
	// Stale keeps good answers to the route's GETs, for a Fallback. Package stale says what is kept and shown. Routes may
	// share a cache.
	Stale *stale.Cache
	// Optional answers an empty 204 with the field X-Bezoar-Degraded if no Fallback applies to the cause.
	Optional bool

	// Guard checks the query in a request; nil: no guard.
	Guard *guardfront.Guard

	// These say which workers a caller may use, and how often its requests are retried.

	Shard    int                     // number of workers in a caller's shard; 0: all
	Cells    int                     // fixed parts of the fleet; each caller has one; 0: none
	Overflow fleet.Overflow          // when a caller may use other workers
	Sticky   string                  // header:NAME or cookie:NAME, whose value chooses the worker; "": the load does
	Budget   *dispatch.CallerBudgets // of each caller's retries; nil: none
}

// admission returns the admission rules of the route.
func (r *Route) admission(c *Config) admission.Config {
	d := admission.Config{
		Route: r.name(), Client: r.Client, Limits: r.Limits, Plans: r.Plans, Cost: r.Cost, Breaker: r.Breaker, Slow: r.Slow, Pool: r.Pool,
		Priority: r.Priority, Other: "Other", Stale: r.Stale, Optional: r.Optional,
		Limiter: c.Limiter, HideLimits: c.HideLimits, Overrides: c.Overrides,
	}
	for _, f := range r.Fallback {
		d.Fallback = append(d.Fallback, admission.Fallback{On: f.On, Static: f.Static, Stale: f.Stale, Other: f.Other != nil})
	}
	return d
}

// Validate reports every fault, each with its field.
func (c Config) Validate() error {
	var errs faults.List
	errs.If(len(c.Routes) == 0, "Routes is empty")
	errs.If(c.MaxBuffered < 0, "MaxBuffered is %d, want at least 0", c.MaxBuffered)
	seen := make(map[string]int)
	for i, r := range c.Routes {
		d := r.admission(&c)
		for _, err := range slices.Concat(r.faults(), d.Faults(), r.Guard.Faults()) {
			errs = append(errs, fmt.Errorf("Routes[%d].%w", i, err))
		}
		if j, ok := seen[r.name()]; ok {
			errs = append(errs, fmt.Errorf("Routes[%d].Name is %q, as is Routes[%d]'s", i, r.name(), j))
		}
		seen[r.name()] = i
	}
	return errors.Join(errs...)
}

func (r Route) name() string {
	switch {
	case r.Name != "":
		return r.Name
	case r.Path != "":
		return r.Path
	}
	return "/*"
}

func (r Route) faults() []error {
	var errs faults.List
	errs.If(r.Path != "" && (r.Path[0] != '/' || strings.ContainsAny(r.Path, " ?#")), "Path is %q, want it to begin with / and without a query", r.Path)
	if i := strings.IndexByte(r.Path, '*'); i >= 0 && i != len(r.Path)-1 {
		errs.Add("Path is %q, want * only at its end", r.Path)
	}
	for _, h := range r.Hosts {
		errs.If(h == "" || strings.ContainsAny(strings.TrimPrefix(h, "*."), "*/: "), "Hosts has %q, want a name or *.name, without a port", h)
	}
	for _, m := range r.Methods {
		errs.If(!h1.Token(m), "Methods has %q, which is not a method", m)
	}
	errs.If(r.Doer == nil && r.Enqueue == nil && r.Redirect == nil, "Doer is nil")
	errs.If(r.Printer == nil && r.Enqueue == nil && r.Redirect == nil, "Printer is nil")
	errs.If(r.Doer != nil && r.Enqueue != nil, "Doer and Enqueue are both set")
	errs.If(r.Redirect != nil && (r.Doer != nil || r.Enqueue != nil || r.Guard != nil), "Redirect is not for a route with a Doer, Enqueue or Guard")
	if err := r.Redirect.check(); err != nil {
		errs = append(errs, err)
	}
	switch r.Replay {
	case "", ReplayIdempotent, ReplayAll, ReplayNone:
	default:
		errs.Add("Replay is %q, want idempotent, all or none", string(r.Replay))
	}
	errs = append(append(errs, r.Request.faults("Request")...), r.Answer.faults("Answer")...)
	if p := r.StripPrefix; p != "" && (p[0] != '/' || strings.HasSuffix(p, "/") || strings.ContainsAny(p, "%*?# ") || urlpath.Resolve(p) != p) {
		errs.Add("StripPrefix is %q, want a path such as /api", p)
	}
	switch r.Paths {
	case "", PathsNormalise, PathsStrict, PathsRaw:
	default:
		errs.Add("Paths is %q, want normalise, strict or raw", string(r.Paths))
	}
	switch r.Lookalikes {
	case "", LookalikesDrop, LookalikesRefuse:
	default:
		errs.Add("Lookalikes is %q, want drop or refuse", string(r.Lookalikes))
	}
	errs.If(r.Buffer < 0 || r.BufferAnswer < 0 || r.BufferBody < 0 || r.MaxBody < 0 || min(r.Timeout, r.Upload, r.StreamIdle, r.StreamTotal) < 0, "Buffer, BufferAnswer, BufferBody, MaxBody, Timeout, Upload, StreamIdle or StreamTotal is negative")
	if _, err := parseSticky(r.Sticky); err != nil {
		errs.Add("Sticky is %q: %w", r.Sticky, err)
	}
	errs.If(r.Cost < 0 || r.Slow < 0 || r.Shard < 0 || r.Cells < 0, "Cost, Slow, Shard or Cells is negative")
	for i := range r.Fallback {
		f := &r.Fallback[i]
		errs.If(f.Stale != nil && r.Stale == nil, "Fallback[%d].Stale is set, and Stale is nil", i)
	}
	errs.If(r.Enqueue != nil && (r.Breaker != nil || len(r.Fallback) > 0), "Breaker and Fallback are not for a route that enqueues")
	return errs
}
