package gateway

import (
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

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

	from requester // nil in records of tests
}

// meter is a caller's wire that notes what passes in the job's record.
type meter struct {
	caller
	rec   *Record
	timed bool
	bare  bool      // the answer has no body
	head  time.Time // when the head had come that Begin gets; zero where that was not noted
}

func (m *meter) Next() ([]byte, error) {
	p, err := m.caller.Next()
	m.rec.BytesIn += int64(len(p))
	return p, err
}

func (m *meter) Begin(h *h1.Head) error {
	m.rec.Status, m.bare = h.Status, h.Bare
	if m.timed {
		if m.head.IsZero() {
			m.head = time.Now()
		}
		m.rec.TTFB = m.head.Sub(m.rec.Time)
		m.head = time.Time{}
	}
	return m.caller.Begin(h)
}

func (m *meter) Write(p []byte) error {
	if !m.bare {
		m.rec.BytesOut += int64(len(p))
	}
	return m.caller.Write(p)
}

// Reset takes back an answer of which nothing has left.
func (m *meter) Reset() bool {
	ok := m.caller.Reset()
	if ok {
		m.rec.Status, m.rec.BytesOut, m.rec.TTFB = 0, 0, 0
	}
	return ok
}

func (m *meter) Abort() {
	m.rec.Cut = true
	m.caller.Abort()
}

// open begins the request's record and its span, and reads what the caller
// says of its time.
func (j *job) open() {
	j.meter = meter{caller: j.from, rec: &j.rec}
	j.from = &j.meter
	c := &j.s.cfg
	timed, said := c.Observe != nil || c.Trace != nil, false
	for i := range j.req.Fields {
		switch j.req.Fields[i].Key {
		case h1.RequestTimeout, h1.RequestDeadline, h1.GRPCTimeout:
			said = true
		case h1.TraceParent:
			j.traced = true
		default: // read elsewhere
		}
	}
	if !timed && !said && !j.traced {
		return
	}
	now := time.Now()
	if said {
		j.setDeadline(now)
	}
	if timed {
		j.meter.timed = true
		j.rec.Time, j.rec.RequestID = now, j.id
		j.rec.Method, j.rec.Host, j.rec.Path, j.rec.from = j.req.Method, j.req.Host, j.req.Path, j
	}
	if j.traced || c.Trace != nil {
		j.trace(now)
	}
}

// close ends the record and the span, the last that happens to a request.
func (j *job) close() {
	c := &j.s.cfg
	if !j.meter.timed {
		return
	}
	if j.route != nil {
		j.rec.Route = j.route.Name
	}
	if c.Trace != nil {
		j.endTrace()
	}
	if c.Observe != nil {
		if j.ended.IsZero() {
			j.ended = time.Now()
		}
		j.rec.Duration = j.ended.Sub(j.rec.Time)
		c.Observe(&j.rec)
	}
}
