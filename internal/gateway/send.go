package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/span"
)

// Bounds of the interim answers (1xx) to one request: so many, and more with the time that it takes. Servers that report the
// progress of an upload or of a long job send one each second or so.
const (
	maxInterim   = 100
	interimEvery = 100 * time.Millisecond
)

// deliver is Send. parent is the span that the worker gets, if any.
func (j *job) deliver(ctx context.Context, t *dispatch.Target, parent span.Trace) dispatch.Result {
	c, place := j.conn, j.place
	j.conn, j.place = nil, nil
	j.ctx, j.up, j.target = ctx, nil, t
	j.wait = wait{}
	j.wait.deadline, j.wait.by = t.Deadline, t.By
	if res := j.ready(t, parent); res.Fault != dispatch.NoFault {
		if c != nil {
			c.Release(false)
		} else {
			place.GiveBack()
		}
		return res
	}
	if place != nil {
		return j.deliverStream(ctx, t, place)
	}
	return j.deliverPlain(c, t)
}

// ready prepares the head for the attempt, unless it is too late.
func (j *job) ready(t *dispatch.Target, parent span.Trace) (res dispatch.Result) {
	if j.tries++; (t.Lane || j.tries > 1) && j.Gone() {
		return dispatch.Result{Fault: dispatch.CallerGone, Err: errGone} // the caller left while it waited
	}
	if (t.Attempt > 1 || !t.By.IsZero() || !parent.IsZero()) && !j.stamp(t.Attempt, t.By, parent) {
		return dispatch.Result{Fault: dispatch.OverdueHead, Err: errTimeUp}
	}
	return res
}

// deliverPlain is deliver over HTTP/1.1.
func (j *job) deliverPlain(c *h1.Conn, t *dispatch.Target) dispatch.Result {
	c.Watch(j)
	payload := j.body.payload()
	wrote, err := c.Start(j.head, payload, !j.body.whole)
	switch {
	case wrote == 0 && err != nil:
		c.Release(false)
		return dispatch.Result{Fault: dispatch.Unsent, Err: err}
	case err == nil && (wrote < len(j.head)+len(payload) || !j.body.whole):
		j.upload(c, j.unsent(wrote))
	}
	// After an error with part of the request written, an answer may still come: a worker need not read all of a request
	// that it refuses.
	res := j.receive(c, t)
	if j.up != nil {
		res.At = time.Time{} // its end is waited for
	}
	j.join(c, res.Fault != dispatch.NoFault)
	if j.up != nil && res.Fault != dispatch.NoFault && j.up.lost {
		res.Fault, res.Err = dispatch.CallerGone, j.up.cause
	}
	c.ReleaseAt(err == nil && j.up.finished() && !j.bound, res.At)
	if res.Fault != dispatch.NoFault {
		j.from.Reset()
	}
	res.Begun = j.from.Sent()
	return res
}

// unsent returns the part of head and payload after the first wrote bytes. If part of the head is left, it makes a copy,
// because the two are separate slices.
func (j *job) unsent(wrote int) []byte {
	payload := j.body.payload()
	if wrote >= len(j.head) {
		return payload[wrote-len(j.head):]
	}
	return append(append([]byte(nil), j.head[wrote:]...), payload...)
}

// receive reads the answer and passes it on.
func (j *job) receive(c *h1.Conn, t *dispatch.Target) dispatch.Result {
	if err := j.receiveHead(c); err != nil {
		return fault(err)
	}
	r := &c.Resp
	res := dispatch.Result{Status: r.Status}
	if r.Status == 101 && j.req.Upgrade == "" {
		res.Fault, res.Err = dispatch.BadAnswer, errors.New("the worker switched protocols unasked")
		return res
	}
	if r.Status == 101 && !j.up.sent() {
		res.Fault, res.Err = dispatch.BadAnswer, errors.New("the worker switched protocols before it had read the request")
		return res
	}
	now := j.begun(t)
	j.answerHead(r)
	j.resp.At = now
	if r.Status == 401 && challengesConnection(r.Fields) {
		j.bound = true
	}
	if admission.IsStream(r.Status, contentType(r.Fields)) {
		t.Stream()
		j.admission.Stream(now)
	}
	if err := j.from.Begin(&j.resp); err != nil {
		res.Fault, res.Err = dispatch.CallerGone, err
		return res
	}
	if r.Status == 101 {
		return j.tunnel(c)
	}
	f := j.copyAnswer(c)
	f.Status = r.Status
	return f
}

// begun records when the head of the answer came.
func (j *job) begun(t *dispatch.Target) time.Time {
	now := time.Now()
	j.wait.begin(now)
	t.Begun(now)
	j.meter.head = now
	return now
}

// receiveHead reads up to the final head and passes interim heads on, except 100: the gateway has sent its own.
func (j *job) receiveHead(c *h1.Conn) error {
	var first time.Time // of the interim answers
	for n := 0; ; n++ {
		if n == 1 {
			first = time.Now()
		}
		if n > maxInterim && n-maxInterim > int(time.Since(first)/interimEvery) {
			return &h1.Error{Status: 502, Rule: "too many interim answers"}
		}
		if err := c.ReadHead(j.req.Method); err != nil {
			return err
		}
		r := &c.Resp
		if r.Status >= 200 || r.Status == 101 {
			return nil
		}
		if r.Status == 100 {
			continue
		}
		j.resp.Fields = passBack(j.resp.Fields[:0], r)
		if err := j.from.Hint(r.Status, r.Reason, j.resp.Fields); err != nil {
			return fmt.Errorf("%w: %w", errGone, err)
		}
	}
}

// answerHead prepares the head for the caller.
func (j *job) answerHead(r *h1.Response) {
	fields := j.route.answer.apply(passBack(j.resp.Fields[:0], r))
	if !has(fields, h1.RequestID) {
		fields = append(fields, h1.Field{Name: "X-Request-Id", Value: j.id, Key: h1.RequestID})
	}
	if r.Status == 101 {
		fields = append(fields, h1.Field{Name: "Upgrade", Value: r.Upgrade, Key: h1.Upgrade})
	}
	fields, lines := j.ours(fields)
	h := &j.resp
	h.Status, h.Reason, h.Fields, h.Lines, h.Length, h.Bare = r.Status, r.Reason, fields, lines, r.Length, r.Bare
}

func has(fields []h1.Field, k h1.Key) bool {
	for i := range fields {
		if fields[i].Key == k {
			return true
		}
	}
	return false
}

// passBack appends the fields for the caller.
func passBack(dst []h1.Field, r *h1.Response) []h1.Field {
	named := namesFields(r.Fields)
	for i := range r.Fields {
		f := &r.Fields[i]
		switch {
		case f.Key == h1.Trailer && r.Length == -1:
		case f.Key.HopByHop():
			continue
		case f.Key == h1.ContentLength && (!r.Bare || r.Status < 200 || r.Status == 204):
			continue
		case named && h1.Named(r.Fields, f.Name):
			continue
		}
		dst = append(dst, *f)
	}
	return dst
}

// copyAnswer passes the body on.
func (j *job) copyAnswer(c *h1.Conn) dispatch.Result {
	for first := true; ; first = false {
		if !first {
			j.admission.Continues()
		}
		p, err := c.Body.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fault(err)
		}
		if err := j.from.Write(p); err != nil {
			return dispatch.Result{Fault: dispatch.CallerGone, Err: err}
		}
	}
	// The worker has done its part, even if the last bytes do not reach the caller.
	if err := j.from.End(c.Body.Trailers()); err != nil {
		return dispatch.Result{Fault: dispatch.CallerGone, Err: err}
	}
	if x := j.client.peer.wire; x != nil && j.answer == nil { // what is buffered is sent meanwhile
		return dispatch.Result{At: x.EndedAt()}
	}
	return dispatch.Result{At: time.Now()}
}

// fault converts an error of the worker's connection to a fault.
func fault(err error) dispatch.Result {
	res := dispatch.Result{Fault: dispatch.BrokenConn, Err: err}
	var e *h1.Error
	switch {
	case errors.As(err, &e):
		res.Fault = dispatch.BadAnswer
	case errors.Is(err, errOverdue):
		res.Fault = dispatch.OverdueHead
	case errors.Is(err, errGone):
		res.Fault = dispatch.CallerGone
	}
	return res
}

// contentType returns the answer's media type with its parameters.
func contentType(fields []h1.Field) string {
	for i := range fields {
		if fields[i].Key == h1.ContentType {
			return fields[i].Value
		}
	}
	return ""
}
