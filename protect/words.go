package protect

import (
	"fmt"

	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
	"github.com/bezoar-dev/bezoar/internal/gateway/stale"
)

// The words that the middleware shares with routes of a gateway.
type (
	// Limit has requests counted in one quota: Quota is its index in the Limiter, Key says
	// who is counted ("ip", "header:NAME", "jwt:CLAIM", "client", "route", or up to four of
	// them joined by +), and Answers counts the bytes of answers too.
	Limit = admission.Limit
	// Plan is a tier of callers, with Limits and a Priority of its own. Callers says who
	// belongs to it.
	Plan = admission.Plan
	// PriorityRule says how important requests are: Default, or what the field Header of a
	// request names.
	PriorityRule = admission.PriorityRule
	// Override changes for some time what a caller or a plan may have: Rate and Concurrency
	// multiply limits, Priority replaces one, Deny refuses everything with a Reason.
	Override = admission.Override

	// FallbackCause is why the handler is not asked: [Open] or [Shed].
	FallbackCause = admission.FallbackCause
	// Static is an answer that is always the same: Status, Header and Body.
	Static = admission.Static
	// Stale is the last good answer to the same GET, of MaxAge at most.
	Stale = admission.Stale

	// Record is what is known of a request when it has ended: times, route, status, bytes,
	// caller, and the rule that refused it.
	Record = accesslog.Record
	// AccessLog writes a line about requests that have ended. Its Observe is one for [Config].
	AccessLog = accesslog.Log
	// AccessLogConfig says what is logged of which requests.
	AccessLogConfig = accesslog.Config

	// AnswerCache keeps the last good answers for fallbacks. Handlers may share one.
	AnswerCache = stale.Cache
	// AnswerCacheConfig bounds [AnswerCache].
	AnswerCacheConfig = stale.Config
)

// The causes that a [Fallback] can be for.
const (
	Open = admission.Open // the circuit breaker refuses
	Shed = admission.Shed // too much at once
)

// The rules that refuse a request, as [Record] and problem documents name them; a quota's is
// "rate:" and its name, and a pool's are those of package overload.
const (
	RuleDenied   = admission.RuleDenied
	RuleBreaker  = admission.RuleBreaker
	RuleRepeated = admission.RuleRepeated
)

// The fields that mark answers which are not the handler's.
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
