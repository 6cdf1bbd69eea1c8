// Package admission decides about a request before its body is read: who calls, within
// which quotas, whether the circuit is closed, and whether there is a place in the pool. The
// gateway and the middleware of package protect ask it, so that both refuse alike.
//
//		who calls ─► overrides ─► quotas ─► breaker ─► pool ─► served ─► released
//		    │            │           │         │         │
//		   400          403         429       503       503   or a fallback's answer
//
//	  - A front makes a [Policy] of each route's [Config] once, and an [Admission] for each
//	    request: [Admission.Admit] before, [Admission.Release] and [Admission.ChargeTransfer]
//	    after.
//	  - All quotas of a request are charged, or none. What is known only afterwards
//	    (the length of a chunked body, an answer's) is charged then.
//	  - A refusal costs microseconds, takes no worker and holds no body. Its problem
//	    document names rule, limit, value and time; Retry-After says when to come
//	    back; RateLimit and RateLimit-Policy, on accepted answers too, what is left.
//	  - Callers are counted under a keyed hash. IPv6 counts by /64; X-Forwarded-For
//	    counts from trusted proxies only. A repeated header that names two callers
//	    is refused, since nobody knows which of them a worker would believe.
//	  - Tokens are not verified here: a claim tells callers apart, and proves
//	    nothing. Keys that the worker has yet to check need a limit by "ip" beside.
//	  - The breaker learns once from each request, whatever its retries did: broken,
//	    overdue and 5xx are failures; quarantined work, callers who leave and an
//	    empty fleet say nothing.
//	  - An answer that is none of the route's workers is marked ([FallbackField],
//	    [DegradedField]).
package admission
