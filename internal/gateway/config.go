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

// Replay says which work may run again after its first byte has left.
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

	// TrustedProxies may say in X-Forwarded-… who the caller is; everybody
	// else's fields of that name are replaced.
	TrustedProxies []netip.Prefix
	// MaxBuffered bounds the body bytes held for all requests together. What
	// does not fit streams, and cannot be replayed. Default 64 MiB.
	MaxBuffered int64
	// Redact names further headers and query parameters whose values are kept
	// out of dead letters, by a part of their name in any case.
	Redact []string
	Log    *slog.Logger // default: none

	// Observe is called once for every request, when it has ended and before
	// the next one on its connection. It must be quick, and must not keep the
	// Record.
	Observe func(*accesslog.Record)
	// Trace is told of every request and attempt; nil: a caller's valid
	// traceparent is passed on, and nothing is made.
	Trace span.Tracer

	Limiter    *quota.Limiter // of all routes' Limits
	HideLimits bool           // answers, apart from refusals, say nothing of quotas
	// Overrides says what is otherwise for a caller now, as the route tells
	// callers apart, and for its plan. It is asked for every request.
	Overrides func(route, caller, plan string) admission.Override
}

// Route sends the requests it matches to one fleet.
type Route struct {
	Name string // for verdicts and events; default Path

	// Path matches exactly, or with a trailing * every path that begins so:
	// "/search/*". Empty matches all. Paths says what becomes of paths that
	// servers read in different ways; others reach the worker as they came.
	Path    string
	Hosts   []string // "example.com", "*.example.com"; empty matches all
	Methods []string // empty matches all but TRACE and TRACK

	Paths      PathMode      // default PathsNormalise
	Lookalikes LookalikeMode // default LookalikesDrop

	// Known is told the secrets of requests, for where the output of the workers is
	// read; nil: it is not.
	Known *redact.Values

	Doer    Doer    // required, without Enqueue and Redirect
	Printer Printer // required, without Enqueue and Redirect

	Redirect *Redirect // instead of a Doer

	// Enqueue answers 202 and puts the request on a queue, instead of a Doer.
	// The body has to fit Buffer. All routes of a gateway that enqueue are
	// asked for status through the last one's.
	Enqueue Enqueuer

	// StripPrefix is taken off the path for the worker: /api/x is /x without
	// /api. It does not change what work the request is. The worker learns of it
	// by X-Forwarded-Prefix.
	StripPrefix string
	// Base stands in front of the path for the worker, behind StripPrefix.
	Base    string
	Request Edit // of the fields for the worker
	Answer  Edit // of the fields of the worker's answer

	Replay Replay
	Buffer int // body bytes held for the fingerprint and for replay; default 64 KiB
	// BufferAnswer is how much of an answer is held in memory for a caller who takes it
	// more slowly than the worker gives it; more is held on the disk. 0: the worker waits.
	BufferAnswer int
	MaxBody      int64           // longer bodies are refused with 413; 0 means no limit
	Timeout      time.Duration   // until the answer begins; while a body streams, between signs of progress; default 30 s
	Upload       time.Duration   // until the answer begins, while a body streams; default 1 h
	Client       string          // what tells callers apart, as a Limit's Key does; "": nothing
	Rule         *blame.Rule     // of conviction; nil means the ledger's
	Retry        *dispatch.Retry // bounds and budget of retries; nil means the dispatcher's
	Off          bool            // no quarantine
	// StreamIdle and StreamTotal bound answers that have begun: how long nothing may
	// come of one, and how long it may go on. Both ends are cut then. 0: no bound.
	StreamIdle, StreamTotal time.Duration
	// HalfClose says that callers who have finished sending wait for their answer.
	// Those who hang up in an orderly way look the same: they are noticed only when
	// the answer is sent. It holds for HTTP/1.1.
	HalfClose bool

	// What follows is looked at before the body is read.

	Limits   []admission.Limit      // rates for everybody
	Plans    []admission.Plan       // the first that has the caller applies, beside Limits
	Cost     int64                  // units of one request in quotas of cost; default 1
	Breaker  *circuit.Breaker       // nil: none
	Slow     time.Duration          // an answer that begins later is slow for the breaker; 0: none is
	Pool     *overload.Pool         // nil: as much at once as comes
	Priority admission.PriorityRule // in the pool

	// Fallback is tried in order when the breaker or the pool refuses, or
	// there is no worker.
	Fallback []Fallback
	// Stale keeps the good answers of the route's GETs, for a Fallback. What
	// may be kept, and shown to others, its package says. Routes may share it.
	Stale *stale.Cache
	// Optional answers an empty 204 with the field X-Bezoar-Degraded when
	// no Fallback is for the cause.
	Optional bool

	// Guard looks at the query that a request is; nil: none.
	Guard *guardfront.Guard

	// Which workers a caller may use, and how often it is tried again.

	Shard    int                     // of how many workers a caller's shard is; 0: of all
	Cells    int                     // fixed parts of the fleet, one of which is a caller's; 0: none
	Overflow fleet.Overflow          // when it may use others
	Sticky   string                  // header:NAME or cookie:NAME, whose value chooses the worker; "": load does
	Budget   *dispatch.CallerBudgets // of each caller's retries; nil: none
}

// admission is what the route asks of those who call it.
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
	var errs []error
	if len(c.Routes) == 0 {
		errs = append(errs, errors.New("Routes is empty"))
	}
	if c.MaxBuffered < 0 {
		errs = append(errs, fmt.Errorf("MaxBuffered is %d, want at least 0", c.MaxBuffered))
	}
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
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if r.Path != "" && (r.Path[0] != '/' || strings.ContainsAny(r.Path, " ?#")) {
		add("Path is %q, want it to begin with / and without a query", r.Path)
	}
	if i := strings.IndexByte(r.Path, '*'); i >= 0 && i != len(r.Path)-1 {
		add("Path is %q, want * only at its end", r.Path)
	}
	for _, h := range r.Hosts {
		if h == "" || strings.ContainsAny(strings.TrimPrefix(h, "*."), "*/: ") {
			add("Hosts has %q, want a name or *.name, without a port", h)
		}
	}
	for _, m := range r.Methods {
		if !h1.Token(m) {
			add("Methods has %q, which is not a method", m)
		}
	}
	if r.Doer == nil && r.Enqueue == nil && r.Redirect == nil {
		add("Doer is nil")
	}
	if r.Printer == nil && r.Enqueue == nil && r.Redirect == nil {
		add("Printer is nil")
	}
	if r.Doer != nil && r.Enqueue != nil {
		add("Doer and Enqueue are both set")
	}
	if r.Redirect != nil && (r.Doer != nil || r.Enqueue != nil || r.Guard != nil) {
		add("Redirect is not for a route with a Doer, Enqueue or Guard")
	}
	if err := r.Redirect.check(); err != nil {
		errs = append(errs, err)
	}
	switch r.Replay {
	case "", ReplayIdempotent, ReplayAll, ReplayNone:
	default:
		add("Replay is %q, want idempotent, all or none", string(r.Replay))
	}
	errs = append(append(errs, r.Request.faults("Request")...), r.Answer.faults("Answer")...)
	if p := r.StripPrefix; p != "" && (p[0] != '/' || strings.HasSuffix(p, "/") || strings.ContainsAny(p, "%*?# ") || urlpath.Resolve(p) != p) {
		add("StripPrefix is %q, want a path such as /api", p)
	}
	switch r.Paths {
	case "", PathsNormalise, PathsStrict, PathsRaw:
	default:
		add("Paths is %q, want normalise, strict or raw", string(r.Paths))
	}
	switch r.Lookalikes {
	case "", LookalikesDrop, LookalikesRefuse:
	default:
		add("Lookalikes is %q, want drop or refuse", string(r.Lookalikes))
	}
	if r.Buffer < 0 || r.BufferAnswer < 0 || r.MaxBody < 0 || min(r.Timeout, r.Upload, r.StreamIdle, r.StreamTotal) < 0 {
		add("Buffer, BufferAnswer, MaxBody, Timeout, Upload, StreamIdle or StreamTotal is negative")
	}
	if _, err := parseSticky(r.Sticky); err != nil {
		add("Sticky is %q: %w", r.Sticky, err)
	}
	if r.Cost < 0 || r.Slow < 0 || r.Shard < 0 || r.Cells < 0 {
		add("Cost, Slow, Shard or Cells is negative")
	}
	for i := range r.Fallback {
		f := &r.Fallback[i]
		if f.Stale != nil && r.Stale == nil {
			add("Fallback[%d].Stale is set, and Stale is nil", i)
		}
	}
	if r.Enqueue != nil && (r.Breaker != nil || len(r.Fallback) > 0) {
		add("Breaker and Fallback are not for a route that enqueues")
	}
	return errs
}
