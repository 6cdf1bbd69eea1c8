package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/h2"
	"github.com/bezoar-dev/bezoar/internal/guardfront"
)

// job is one request on its way: what the dispatcher sends, again if need be.
// Jobs are pooled; nothing may hold on to one once its request is answered.
type job struct {
	exchange

	g      *Gateway
	s      *settings       // those of when the request began
	ctx    context.Context //nolint:containedctx // a job is one call, and waits inside its reads
	client client
	route  *route
	by     time.Time        // the caller's deadline; zero when it named none
	rec    accesslog.Record // filled in on the way
	meter  meter            // in front of from
	answer *answerBuffer    // below meter; nil without one

	traced    bool                // the caller has a valid traceparent
	grpc      bool                // the caller has a valid grpc-timeout
	spans     *spans              // nil without a Tracer
	admission admission.Admission // by the policy of the route

	body heldBody

	head        []byte // for the worker
	base        int    // what of head is the same for all attempts
	prepared    bool   // body and head are
	marked      h1.Field
	check       guardfront.Check // by the guard of the route
	cacheWriter cacheWriter
	known       *redact.Held // the secrets in it; nil: none
	other       *Fallback    // whose workers get it, instead of the route's; nil: those

	input  fingerprint.Input
	traits fingerprint.Traits
	print  bezoar.Fingerprint // of the work
	digest bezoar.Fingerprint // of a whole body that streamed by; zero until then
	size   int64              // of that body
	vals   []string           // what Values has returned

	tries  int              // of Send
	conn   *h1.Conn         // of an attempt that is about to begin
	place  *h2.Place        // or this
	target *dispatch.Target // of Send
	wait   wait
	ended  time.Time // when a worker's answer had been sent; zero where that was not noted
	up     *upload   // of the present attempt; nil without one
}

var _ dispatch.Job = (*job)(nil)

func (j *job) begin(ctx context.Context, from caller, req *h1.Request, p peer) {
	j.s, j.ctx, j.from, j.req = j.g.now.Load(), ctx, from, req
	j.client = client{s: j.s, req: req, peer: p}
	j.body.g, j.body.s, j.body.req = j.g, j.s, req
	if m := p.cache; m != nil && m.s != j.s {
		*m = connCache{s: j.s} // what it remembers may be otherwise now
	}
	j.id = requestID(req)
}

// end forgets the request, but keeps the small buffers.
func (j *job) end() {
	j.body.release()
	j.unknow()
	g, head, body, vals, lines := j.g, j.head, j.body.bytes, j.vals, j.lines
	fields, copied := j.resp.Fields, j.cacheWriter.fields
	j.check.Reset()
	check := j.check
	clear(vals[:cap(vals)])
	clear(fields[:cap(fields)])
	clear(copied[:cap(copied)])
	*j = job{} // in place: a literal with values in it is made elsewhere first
	j.g, j.head, j.body.bytes, j.vals, j.lines = g, head[:0], body[:0], vals[:0], lines[:0]
	j.resp.Fields, j.cacheWriter.fields = fields[:0], copied[:0]
	j.check = check
}

// work tells the dispatcher what it needs to know.
func (j *job) work() dispatch.Work {
	rt := j.route
	j.input = fingerprint.Input{
		Method:      j.req.Method,
		Path:        j.req.Path,
		RawQuery:    j.req.Query,
		ContentType: j.first(h1.ContentType),
		Header:      j,
		Fields:      j,
		Body:        j.body.bytes,
		Complete:    j.body.whole,
		Length:      j.req.Length,
	}
	w := dispatch.Work{
		Rule:       rt.Rule,
		Retry:      rt.Retry,
		Off:        rt.Off,
		Route:      rt.Name,
		Timeout:    rt.Timeout,
		Replayable: j.replayable(),
		Deadline:   j.by,
		Caller:     j.admission.Hash,
		Shard:      rt.Shard,
		Cells:      rt.Cells,
		Overflow:   rt.Overflow,
		Sticky:     j.stick(),
		Budget:     rt.Budget,
	}
	w.Fingerprint, w.Shape = rt.Printer.Work(&j.input)
	if !j.check.Shape.IsZero() {
		w.Shape = j.check.Shape
	}
	j.print = w.Fingerprint
	w.Client = j.client.print(rt, j.admission.Caller)
	if p, ok := rt.Printer.(*fingerprint.Printer); ok {
		j.traits = fingerprint.Traits{Printer: p, Input: &j.input, Caller: w.Client, Bound: j.req.Upgrade != "", Query: !j.check.Shape.IsZero()}
		w.Traits = &j.traits
	}
	if !j.body.whole {
		w.Timeout = rt.Upload // wait watches the progress
	}
	return w
}

// replayable reports whether the request may run again after its first byte has
// left.
func (j *job) replayable() bool {
	if !j.body.whole || j.req.Upgrade != "" {
		return false
	}
	switch j.route.Replay {
	case ReplayAll:
		return true
	case ReplayNone:
		return false
	case ReplayIdempotent:
	}
	switch j.req.Method {
	case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE":
		return true
	}
	return j.first(h1.IdempotencyKey) != ""
}

// NumField returns the number of fields, for the traits: those of the head, and trailers of
// a body that is held.
func (j *job) NumField() int { return len(j.req.Fields) + len(j.body.trailers) }

// Field returns one of them. A trailer is told from a field of its name in the head, since a
// worker may die of one and not of the other.
func (j *job) Field(i int) (name, value string) {
	if n := i - len(j.req.Fields); n >= 0 {
		return "trailer " + j.body.trailers[n].Name, j.body.trailers[n].Value
	}
	return j.req.Fields[i].Name, j.req.Fields[i].Value
}

// Values returns all values of a field, for the fingerprint.
func (j *job) Values(name string) []string {
	start := len(j.vals)
	for i := range j.req.Fields {
		if strings.EqualFold(j.req.Fields[i].Name, name) {
			j.vals = append(j.vals, j.req.Fields[i].Value)
		}
	}
	return j.vals[start:len(j.vals):len(j.vals)]
}

// Gone reports whether the caller has hung up.
func (j *job) Gone() bool { return j.ctx.Err() != nil || j.from.Gone() }

// Connect readies a connection to the worker.
func (j *job) Connect(ctx context.Context, t *dispatch.Target) (err error) {
	switch pool := t.Worker.Conn().(type) {
	case *h1.Pool:
		j.conn, err = pool.GetBy(ctx, t.By)
	case *h2.Pool:
		j.place, err = pool.Get(ctx, t.By)
	default:
		err = fmt.Errorf("connect to worker %s: it was not made with gateway.Connect", t.Worker.Name())
	}
	return err
}

// Drop closes what Connect readied.
func (j *job) Drop() {
	if j.conn != nil {
		j.conn.Release(false)
		j.conn = nil
	}
	if j.place != nil {
		j.place.GiveBack()
		j.place = nil
	}
}

// wait bounds what Send waits for; it is the [h1.Watch] of the worker's
// connection.
type wait struct {
	deadline time.Time // by when the head must be there
	head     time.Time // when the head was there
	long     time.Time // from when on an answer that goes on is a stream; zero until it has begun
	by       time.Time // by when the caller wants all of the answer; zero for no such time
	begun    bool      // the head is there: only a lost caller ends the wait
}

var (
	errGone    = errors.New("the caller hung up")
	errOverdue = errors.New("the answer is overdue")
	errTimeUp  = fmt.Errorf("%w: its deadline has passed", errGone)
)

// Bounds on how often a wait looks whether the caller is still there.
const (
	firstLook = 100 * time.Millisecond
	slowLook  = time.Second
)

// Wait ends waits for the worker that are overdue or whose caller is gone. Before
// a wait it sends on what has come of the answer, so that events reach the caller
// as they happen. Whether the caller is there it asks only later: most waits are
// over by then.
func (j *job) Wait(since, now time.Time) (time.Time, error) {
	waited := now.Sub(since)
	if waited > 0 && j.Gone() {
		return time.Time{}, errGone
	}
	if j.wait.begun {
		j.admission.Continues()
		if !now.Before(j.wait.long) {
			j.target.Stream()
		}
		if err := j.from.Flush(); err != nil {
			return time.Time{}, fmt.Errorf("%w: %w", errGone, err)
		}
	}
	next := now.Add(min(max(firstLook, waited), slowLook))
	if j.wait.begun {
		switch by := j.wait.by; {
		case by.IsZero():
		case !now.Before(by):
			return time.Time{}, errTimeUp
		case by.Before(next):
			next = by
		}
		return j.streamEnds(since, now, next)
	}
	deadline := j.wait.deadline
	if j.up != nil {
		if t := j.up.stalls(j.route.Timeout); !t.IsZero() && (deadline.IsZero() || t.Before(deadline)) {
			deadline = t
		}
	}
	switch {
	case deadline.IsZero():
	case !now.Before(deadline):
		return time.Time{}, errOverdue
	case deadline.Before(next):
		next = deadline
	}
	return next, nil
}
