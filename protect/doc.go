// Package protect is HTTP middleware for servers written in Go. It limits callers as
// Bezoar's gateway does: with quotas, a pool of requests that run at once, a circuit
// breaker, and fallbacks.
//
//	wrap, err := protect.New(protect.Config{...})
//	http.ListenAndServe(addr, wrap(mux))
//
// [Config] holds the rules. The middleware checks each request in this order, before the
// body is read:
//
//		who calls ─► overrides ─► quotas ─► breaker ─► pool ─► handler
//		    │            │           │         │         │
//		   400          403         429       503       503   or a Fallback's answer
//
//	  - A refusal is a problem document (RFC 9457) that names rule, limit, value and time.
//	    Retry-After says when to come back. RateLimit and RateLimit-Policy say what is left, on
//	    accepted answers too.
//	  - A 5xx, a panic and an answer that is broken off are failures for the breaker. Callers who
//	    leave do not count.
//	  - A place in the pool is given back when the handler returns. A stream (another protocol,
//	    events, an answer that goes on for long) does not count in the pool while it lasts.
//	  - Processes that share quotas need the same Config.Key, because callers are counted under
//	    keyed hashes.
//
// The packages quota, overload and circuit make quotas, pools and breakers.
package protect
