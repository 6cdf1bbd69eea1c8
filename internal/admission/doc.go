// Package admission decides about a request before its body is read: who the caller is,
// whether the quotas allow the request, whether the circuit is closed, and whether the
// pool has a place. The gateway and the middleware of package protect use it, so that
// both refuse in the same way.
//
//		who calls ─► overrides ─► quotas ─► breaker ─► pool ─► served ─► released
//		    │            │           │         │         │
//		   400          403         429       503       503   or a fallback's answer
//
//	  - A front makes one [Policy] for each route's [Config], and an [Admission] for each
//	    request. It calls [Admission.Admit] before the request runs, and
//	    [Admission.ChargeTransfer] and [Admission.Release] after it.
//	  - All quotas of a request are charged, or none. An amount that is known only
//	    afterwards (the length of a chunked body or of an answer) is charged then.
//	  - A refusal costs microseconds, takes no worker and holds no body. Its problem
//	    document names rule, limit, value and time. Retry-After says when to come
//	    back. RateLimit and RateLimit-Policy say what is left, on accepted answers too.
//	  - Callers are counted under a keyed hash. IPv6 addresses are counted by /64.
//	    X-Forwarded-For counts only from trusted proxies. A repeated header that names
//	    two callers is refused, because a worker might believe either of them.
//	  - Tokens are not verified here: a claim tells callers apart and proves
//	    nothing. If only the worker checks a key, add a limit by "ip".
//	  - The breaker learns once from each request, however often it was retried. Broken
//	    connections, missed deadlines and 5xx are failures. Quarantined work, callers who
//	    leave and an empty fleet do not count.
//	  - Answers that do not come from the route's workers are marked ([FallbackField],
//	    [DegradedField]).
package admission
