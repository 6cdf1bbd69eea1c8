package gateway

import (
	"time"

	"github.com/bezoar-dev/bezoar/dispatch"
	"github.com/bezoar-dev/bezoar/internal/h1"
)

// admit decides about the request before its body is read. It reports false when
// the request has been answered. leave is owed either way.
func (j *job) admit(now time.Time) bool {
	t := j.route.terms
	if t == nil {
		return true
	}
	r := j.stay.admit(j.ctx, t, j.recall(), j, arrival{now: now, deadline: j.by, length: j.req.Length})
	j.rec.Caller, j.rec.Plan, j.rec.Waited, j.rec.Cost = j.stay.caller, j.stay.planName(), j.stay.waited, j.stay.cost
	switch {
	case r != nil:
		j.refuse(r)
		return false
	case j.stay.waited > 0 && j.from.Gone():
		j.from.Abort() // it gave up in the queue, and is not to be worked for
		return false
	}
	if t.cache != nil {
		j.record()
	}
	return true
}

// refuse answers a request that is not admitted: with a fallback, or with why.
// What is left of a short body is read by the wire, so that the connection goes
// on.
func (j *job) refuse(r *refusal) {
	j.rec.Rule = r.grounds.Rule
	if j.fallBack(r.trouble) {
		return
	}
	fields := j.stay.quotaFields(r.fields(nil))
	j.document(r.grounds.Status, "application/problem+json", r.document(j.id), fields)
}

// prepare holds the body, and writes the head for workers.
func (j *job) prepare() error {
	if j.prepared {
		return nil
	}
	if err := j.gather(); err != nil {
		return err
	}
	if err := j.guarded(); err != nil {
		j.recorded(0)
		return err
	}
	j.forward()
	j.prepared = true
	return nil
}

// do has the route's own fleet do the work.
func (j *job) do() dispatch.Answer {
	if j.stay.terms == nil && j.route.Guard == nil {
		return j.route.Doer.Do(j.ctx, j.work(), j)
	}
	j.stay.began, j.stay.fate = time.Now(), fate{failed: true} // if it panics
	a := j.route.Doer.Do(j.ctx, j.work(), j)
	j.stay.fate = fateOf(a)
	j.observed(time.Since(j.stay.began), a)
	return a
}

// leave gives back what admission took.
func (j *job) leave() {
	if j.stay.terms == nil {
		return
	}
	j.copy.tape.Discard()
	now := time.Now()
	j.stay.leave(now)
	j.stay.extra(now, j.req.Length, j.rec.BytesIn, j.rec.BytesOut)
}

// fateOf says what an answer tells about the fleet. A request's first failure
// counts, whatever became of the next attempts: a second one is evidence against
// the request, and so is a quarantine.
func fateOf(a dispatch.Answer) fate {
	switch a.Kind {
	case dispatch.Answered:
		return fate{failed: a.Result.Status >= 500, dropped: a.Result.Status == 503 || a.Result.Status == 429}
	case dispatch.TimedOut:
		if a.Rule == dispatch.RuleDeadline {
			return fate{ignored: true} // callers choose those
		}
		return fate{failed: true, dropped: true}
	case dispatch.Failed, dispatch.Cut:
		return fate{failed: true}
	case dispatch.Refused, dispatch.Unavailable, dispatch.Aborted:
	}
	return fate{ignored: true}
}

// ours adds the gateway's fields to an answer of a worker: as fields, and as
// lines where the wire takes them.
func (j *job) ours(fields []h1.Field) ([]h1.Field, []byte) {
	s := &j.stay
	fields = append(fields, j.noted...)
	if s.terms == nil {
		return fields, nil
	}
	s.head = time.Now()
	if j.marked.Name != "" {
		fields = append(fields, j.marked)
	}
	if !s.counted || s.terms.quiet {
		return fields, nil
	}
	if j.peer.memo == nil { // net/http's wire keeps what it is given
		return s.quotaFields(fields), nil
	}
	j.lines = s.quotaLines(j.lines[:0])
	return fields, j.lines
}
