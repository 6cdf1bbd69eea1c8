package protect

import (
	"fmt"

	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
	"github.com/bezoar-dev/bezoar/internal/gateway/stale"
)

// These types are shared with routes of a gateway.
type (
	// Limit counts requests in one quota. Quota is its index in the Limiter. Key says which callers share a count: "ip",
	// "header:NAME", "jwt:CLAIM", "client", "route", or up to four of them joined by +. Answers also counts the bytes of
	// answers.
	Limit = admission.Limit
	// Plan is a tier of callers with its own Limits and Priority. Callers reports whether a caller belongs to it.
	Plan = admission.Plan
	// PriorityRule sets the priority of requests: Default, or the value of the request's field Header.
	PriorityRule = admission.PriorityRule
	// Override changes the limits of a caller or a plan for some time: Rate and Concurrency multiply limits, Priority
	// replaces one, Deny refuses everything with a Reason.
	Override = admission.Override

	// FallbackCause is why the handler is not called: [Open] or [Shed].
	FallbackCause = admission.FallbackCause
	// Static is an answer that is always the same: Status, Header and Body.
	Static = admission.Static
	// Stale answers with the last good answer to the same GET, if it is not older than MaxAge.
	Stale = admission.Stale

	// Record describes a request that has ended: times, route, status, bytes, caller, and the rule that refused it.
	Record = accesslog.Record
	// AccessLog writes a line about each request that has ended. Use its Observe in [Config].
	AccessLog = accesslog.Log
	// AccessLogConfig says which requests are logged, and how.
	AccessLogConfig = accesslog.Config

	// AnswerCache keeps the last good answers for fallbacks. Handlers may share one.
	AnswerCache = stale.Cache
	// AnswerCacheConfig bounds [AnswerCache].
	AnswerCacheConfig = stale.Config
)

// The causes of a [Fallback].
const (
	Open = admission.Open // the circuit breaker refuses
	Shed = admission.Shed // too much at once
)

// These rules refuse a request, as in [Record] and problem documents. The rule of a quota is "rate:" and its name; a pool's
// rules are those of package overload.
const (
	RuleDenied   = admission.RuleDenied
	RuleBreaker  = admission.RuleBreaker
	RuleRepeated = admission.RuleRepeated
)

// These fields mark answers that do not come from the handler.
const (
	FallbackField = admission.FallbackField // "static; on=open"
	DegradedField = admission.DegradedField // "open": the answer is empty, because of Optional
)

// NewAccessLog returns an access log, or every fault of cfg.
func NewAccessLog(cfg AccessLogConfig) (*AccessLog, error) { return accesslog.New(cfg) }

// NewAnswerCache returns an empty cache, or every fault of cfg.
func NewAnswerCache(cfg AnswerCacheConfig) (*AnswerCache, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("answer cache: %w", err)
	}
	return stale.New(cfg), nil
}
