package gateway

import (
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// meter is a caller's wire that counts what passes, in the job's record.
type meter struct {
	caller
	rec   *accesslog.Record
	timed bool
	bare  bool      // the answer has no body
	head  time.Time // when the head for Begin had come; zero: unknown
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

// Reset takes back an answer if nothing of it has left.
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

// open begins the request's record and its span, and reads the caller's deadline.
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
			j.tracing.valid = true
		default: // read elsewhere
		}
	}
	if !timed && !said && !j.tracing.valid {
		return
	}
	now := j.lately()
	if said {
		j.deadline.read(now, j.req.Fields)
	}
	if timed {
		j.meter.timed = true
		j.rec.Time, j.rec.RequestID = now, j.id
		j.rec.Method, j.rec.Host, j.rec.Path, j.rec.From = j.req.Method, j.req.Host, j.req.Path, &j.client
	}
	if j.tracing.valid || c.Trace != nil {
		j.tracing.begin(now, c.Trace, &j.exchange, &j.rec)
	}
}

// close ends the record and the span, as the last step of a request.
func (j *job) close() {
	c := &j.s.cfg
	if !j.meter.timed {
		return
	}
	if j.route != nil {
		j.rec.Route = j.route.Name
	}
	if c.Trace != nil {
		j.tracing.end(c.Trace, &j.rec)
	}
	if c.Observe != nil {
		if j.ended.IsZero() {
			j.ended = time.Now()
		}
		j.rec.Duration = j.ended.Sub(j.rec.Time)
		c.Observe(&j.rec)
	}
}
