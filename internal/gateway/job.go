package gateway

import (
	"context"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/guardfront"
)

// job is one request in progress. The dispatcher sends it, several times if necessary. Jobs are pooled; nothing may keep a
// job after its request is answered.
//
// Each part has one subject: exchange the wire to the caller, attempt the wire to a worker, client the caller, admission
// and check the decisions, body the held bytes, identity the identity as work, deadline the caller's deadline, secrets what
// must not be printed.
type job struct {
	exchange
	attempt

	g     *Gateway
	s     *settings       // from when the request began
	ctx   context.Context //nolint:containedctx // a job is one call, and waits inside its reads
	route *route

	client    client
	admission admission.Admission // by the policy of the route
	check     *guardfront.Check   // by the guard of the route; nil until the job has had a guarded route
	body      heldBody
	identity  identity
	deadline  deadline
	secrets   secrets
	other     *Fallback // whose workers get the request instead of the route's; nil: none

	head     []byte // for the worker
	base     int    // length of the part of head that all attempts share
	prepared bool   // body and head are

	rec         accesslog.Record // filled while the request runs
	meter       meter            // around from
	answer      *answerBuffer    // below meter; nil: none
	buffered    *bodyBuffer      // from, if the rest of the body is in a file; nil: it is not
	cacheWriter cacheWriter      // likewise, if a copy is kept
	marked      h1.Field         // of an answer that is not the route's own
	ended       time.Time        // when a worker's answer had been sent; zero: unknown
	at          time.Time        // the current time, until the job waits; zero: unknown

	tracing tracing
}

var _ dispatch.Job = (*job)(nil)

func (j *job) begin(ctx context.Context, from caller, req *h1.Request, p peer) {
	j.s, j.ctx, j.from, j.req = j.g.now.Load(), ctx, from, req
	j.client = client{s: j.s, req: req, peer: p}
	j.body.g, j.body.s, j.body.req = j.g, j.s, req
	j.identity.req, j.identity.body = req, &j.body
	if m := p.cache; m != nil && m.s != j.s {
		*m = connCache{s: j.s} // its content may differ now
	}
	j.id = requestID(req)
}

// end clears the job, but keeps the small buffers.
func (j *job) end() {
	j.body.release()
	j.secrets.forget()
	g, head, body, vals, lines := j.g, j.head, j.body.bytes, j.identity.vals, j.lines
	fields, copied := j.resp.Fields, j.cacheWriter.fields
	check := j.check
	if check != nil {
		check.Reset()
	}
	clear(vals[:cap(vals)])
	clear(fields[:cap(fields)])
	clear(copied[:cap(copied)])
	*j = job{} // in place: a literal with values would be built elsewhere and copied
	j.g, j.head, j.body.bytes, j.identity.vals, j.lines = g, head[:0], body[:0], vals[:0], lines[:0]
	j.resp.Fields, j.cacheWriter.fields = fields[:0], copied[:0]
	j.check = check
}

// work describes the request to the dispatcher.
func (j *job) work() (w dispatch.Work) {
	rt := j.route // in place: a literal would be built elsewhere and copied
	w.Rule, w.Retry, w.Off, w.Budget = rt.Rule, rt.Retry, rt.Off, rt.Budget
	w.Route, w.Timeout = rt.Name, rt.Timeout
	w.Now, j.at = j.at, time.Time{} // Do may wait
	if !j.body.whole {
		w.Timeout = rt.Upload // wait checks the progress
	}
	w.Replayable, w.Deadline = j.replayable(), j.deadline.by
	j.once = !w.Replayable
	w.Caller, w.Client = j.admission.Hash, j.client.fingerprint(rt, j.admission.Caller)
	w.Shard, w.Cells, w.Overflow, w.Sticky = rt.Shard, rt.Cells, rt.Overflow, j.stick()
	j.identity.identify(&w, rt.Printer, j.first(h1.ContentType), j.shape())
	return w
}

// lately returns the current time. It asks the clock only if the job may have waited since it last did.
func (j *job) lately() time.Time {
	if j.at.IsZero() {
		j.at = time.Now()
	}
	return j.at
}

// replayable reports whether the request may run again after its first byte has left.
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

// Gone reports whether the caller has hung up.
func (j *job) Gone() bool { return j.ctx.Err() != nil || j.from.Gone() }

// Wait ends waits for the worker that are overdue, or whose caller has left. Before a wait it sends on what has come of the
// answer, so that the caller gets events as they happen. It checks for the caller only later, because most waits are over
// by then.
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
