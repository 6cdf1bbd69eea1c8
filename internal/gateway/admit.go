package gateway

import (
	"time"

	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// admit decides about the request before its body is read. It returns false if it has answered the request. The caller must
// call releaseAdmission in either case.
func (j *job) admit(now time.Time) bool {
	t := j.route.policy
	if t == nil {
		return true
	}
	r := j.admission.Admit(j.ctx, t, j.client.cache(), &j.client, admission.Request{Now: now, Deadline: j.deadline.by, Length: j.req.Length, Stream: j.wantsStream()})
	j.rec.Caller, j.rec.Plan, j.rec.Waited, j.rec.Cost = j.admission.Caller, j.admission.PlanName(), j.admission.Waited, j.admission.Cost
	if j.admission.Waited > 0 {
		j.at = time.Time{}
	}
	switch {
	case r != nil:
		j.refuse(r)
		return false
	case j.admission.Waited > 0 && j.from.Gone():
		j.from.Abort() // the caller left while it waited
		return false
	}
	if t.Cache != nil {
		j.recordAnswer()
	}
	return true
}

// refuse answers a request that is not admitted, with a fallback or with the reason. The wire reads the rest of a short
// body, so that the connection can go on.
func (j *job) refuse(r *admission.Refusal) {
	j.rec.Rule = r.Body.Rule
	if j.fallBack(r.Cause) {
		return
	}
	fields := j.admission.QuotaFields(r.Fields(nil))
	j.document(r.Body.Status, "application/problem+json", r.Document(j.id), fields)
}

// prepare holds the body, and writes the head for workers.
func (j *job) prepare() error {
	if j.prepared {
		return nil
	}
	if err := j.gather(); err != nil {
		return err
	}
	if err := j.bufferBody(); err != nil {
		return err
	}
	if !j.body.whole {
		j.req.Upgrade = "" // the worker might take the rest of the body for the new protocol
	}
	if err := j.guarded(); err != nil {
		j.check.Recorded(0) // a guarded route has a check
		return err
	}
	j.forward()
	j.know()
	j.prepared = true
	return nil
}

// do makes the route's own fleet do the work.
func (j *job) do() dispatch.Answer {
	if j.admission.Policy == nil && j.route.Guard == nil {
		return j.route.Doer.Do(j.ctx, j.work(), j)
	}
	j.admission.Began, j.admission.Outcome = j.lately(), admission.Outcome{Failed: true} // holds if it panics
	a := j.route.Doer.Do(j.ctx, j.work(), j)
	j.admission.Outcome = outcomeOf(a)
	now := a.Result.At
	if now.IsZero() {
		now = time.Now()
	}
	if a.Kind == dispatch.Answered {
		j.ended = now
	}
	j.observed(now.Sub(j.admission.Began), a)
	return a
}

// WaitsForStream frees the place of a request that asks for a stream and waits for the first of its copies: the fleet's
// places are for work that a worker has. It counts as a stream from now on.
func (j *job) WaitsForStream() {
	if j.admission.Policy != nil && j.wantsStream() {
		j.admission.Stream(time.Now())
	}
}

// releaseAdmission gives back what admission took.
func (j *job) releaseAdmission() {
	if j.admission.Policy == nil {
		return
	}
	j.cacheWriter.recorder.Discard()
	now := j.ended
	if now.IsZero() {
		now = time.Now()
	}
	j.admission.Release(now)
	length := j.req.Length
	if j.buffered != nil {
		length = j.buffered.declared
	}
	j.admission.ChargeTransfer(now, length, j.rec.BytesIn, j.rec.BytesOut)
}

// outcomeOf returns what an answer says about the fleet. The first failure of a request counts, even if a later attempt
// succeeds. Further failures, and a quarantine, are evidence against the request.
func outcomeOf(a dispatch.Answer) admission.Outcome {
	switch a.Kind {
	case dispatch.Answered:
		return admission.Outcome{Failed: a.Result.Status >= 500, Dropped: a.Result.Status == 503 || a.Result.Status == 429}
	case dispatch.TimedOut:
		if a.Rule == dispatch.RuleDeadline {
			return admission.Outcome{Ignored: true} // callers choose their deadlines
		}
		return admission.Outcome{Failed: true, Dropped: true}
	case dispatch.Failed, dispatch.Cut:
		return admission.Outcome{Failed: true}
	case dispatch.Refused, dispatch.Unavailable, dispatch.Aborted:
	}
	return admission.Outcome{Ignored: true}
}

// ours adds the gateway's own fields to a worker's answer: as fields, or as lines if the wire accepts lines.
func (j *job) ours(fields []h1.Field) ([]h1.Field, []byte) {
	s := &j.admission
	if j.check != nil {
		fields = append(fields, j.check.Notes...)
	}
	if s.Policy == nil {
		return fields, nil
	}
	s.Head = j.wait.head
	if j.marked.Name != "" {
		fields = append(fields, j.marked)
	}
	if !s.Counted || s.Policy.HideLimits {
		return fields, nil
	}
	if j.client.peer.cache == nil { // net/http's wire keeps the slice
		return s.QuotaFields(fields), nil
	}
	j.lines = s.QuotaLines(j.lines[:0])
	return fields, j.lines
}
