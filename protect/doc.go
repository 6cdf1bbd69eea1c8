// Package protect is HTTP middleware for servers written in Go. It bounds what callers may
// have, as a gateway of Bezoar does for the servers behind it: quotas, a pool of requests that
// run at once, a circuit breaker, and fallbacks.
//
//	wrap, err := protect.New(protect.Config{...})
//	http.ListenAndServe(addr, wrap(mux))
//
// [Config] says what is asked of callers. Each request is asked in this order, before its body
// is read:
//
//		who calls ─► overrides ─► quotas ─► breaker ─► pool ─► handler
//		    │            │           │         │         │
//		   400          403         429       503       503   or a Fallback's answer
//
//	  - A refusal is a problem document (RFC 9457) that names rule, limit, value and time.
//	    Retry-After says when to come back. RateLimit and RateLimit-Policy say what is left, on
//	    accepted answers too.
//	  - A 5xx, a panic and an answer that is broken off are failures for the breaker. Callers who
//	    leave say nothing about the handler.
//	  - A place in the pool is given back when the handler returns. A stream (another protocol,
//	    events, an answer that goes on for long) leaves the pool's count while it lasts.
//	  - Processes that share quotas need the same Config.Key, because callers are counted under
//	    hashes.
//
// Quotas, pools and breakers are made by the packages quota, overload and circuit.
package protect
