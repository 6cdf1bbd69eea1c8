package accesslog

import "time"

// Record describes a request that has ended, for logs, metrics and lists of the most expensive callers. The wire answers
// malformed heads itself, and they have no record. A Record and its strings are only valid during the call that gets it:
// copy what you keep.
type Record struct {
	Time     time.Time     // when the request began
	Duration time.Duration // until the end of the answer
	Waited   time.Duration // part of Duration: in the pool
	TTFB     time.Duration // until the head of the answer; 0: there was none

	Route  string // "": no route matches
	Worker string // the worker that answered, or failed last; "": none was asked
	Method string
	Host   string
	Path   string // as received, without the query

	Status   int   // 0: the caller left before its answer
	Cut      bool  // the answer did not reach the caller completely
	BytesIn  int64 // of the body, as far as it was read
	BytesOut int64 // of the body
	Attempts int   // deliveries to workers
	Lane     bool  // the last delivery was alone in the lane

	Caller   string // the caller's identity by the route's key; "": none
	Plan     string // of the caller
	Rule     string // the rule that refused: "rate:NAME", "concurrency", "breaker", "quarantine", "deadline", …; "": none
	Fallback string // the fallback that answered: "static", "stale", "other", "degraded"

	RequestID string
	TraceID   string // 32 hexadecimal digits, or ""
	SpanID    string // of the caller's span, or of the request's span if it is traced
	Cost      int64  // units of the guard

	From Requester // nil in records of tests
}
