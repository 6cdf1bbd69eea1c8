package accesslog

import "time"

// Record is what is known of a request when it has ended, for logs, metrics and
// lists of who costs most. Heads that are malformed are answered by the wire, and
// leave none. It and its strings are only valid during the call
// that it is passed to: copy what is kept.
type Record struct {
	Time     time.Time     // when the request was taken up
	Duration time.Duration // to the end of the answer
	Waited   time.Duration // of that, in the pool
	TTFB     time.Duration // to the head of the answer; 0 when there was none

	Route  string // "" when none matches
	Worker string // that answered, or failed last; "" when none was asked
	Method string
	Host   string
	Path   string // as it came, without the query

	Status   int   // 0 when the caller was gone before its answer
	Cut      bool  // the answer did not reach the caller whole
	BytesIn  int64 // of the body, as far as it was read
	BytesOut int64 // of the body
	Attempts int   // deliveries to workers
	Lane     bool  // the last of them was alone in the lane

	Caller   string // as the route tells callers apart; "" when it does not
	Plan     string // of the caller
	Rule     string // that refused: "rate:NAME", "concurrency", "breaker", "quarantine", "deadline", …; "" when none did
	Fallback string // what answered instead of a worker: "static", "stale", "other", "degraded"

	RequestID string
	TraceID   string // 32 hexadecimal digits, or ""
	SpanID    string // of the caller's span, or of the request's when it is traced
	Cost      int64  // units of the guard

	From Requester // nil in records of tests
}
