package gateway

import (
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/guardfront"
)

// guarded checks the request against the route's guard. errAnswered means that the guard rejected it.
func (j *job) guarded() error {
	if j.route.Guard == nil {
		return nil
	}
	j.at = time.Time{} // the guard may wait for its turn
	r := j.query()
	j.checked()
	no := j.check.Judge(j.route.Guard, &r)
	v := j.check.Verdict()
	if v != nil {
		j.rec.Cost = int64(v.Cost)
	}
	switch {
	case no != nil:
		j.reject(no)
		return errAnswered
	case v == nil:
		return nil
	case v.Verdict == guard.Capped:
		j.lower(v)
	}
	if r := j.admission.ChargeQuery(time.Now(), int64(v.Cost)); r != nil {
		j.refuse(r)
		return errAnswered
	}
	return nil
}

func (j *job) checked() {
	if j.check == nil {
		j.check = new(guardfront.Check)
	}
}

// shape returns the shape that the guard has found; zero for none.
func (j *job) shape() (f bezoar.Fingerprint) {
	if j.check != nil {
		f = j.check.Shape
	}
	return f
}

// readShape makes the guard read the shape of a request that it does not judge.
func (j *job) readShape() {
	if j.route.Guard != nil {
		q := j.query()
		j.checked()
		j.check.Shape = j.route.Guard.Shape(&q)
	}
}

// query returns the request in the guard's form.
func (j *job) query() guardfront.Request {
	return guardfront.Request{
		Head: j.req, Body: j.body.bytes, Whole: j.body.whole, Buffer: j.route.Buffer, ID: j.id, Route: j.route.Name,
		Caller: j.rec.Caller, Hash: j.admission.Hash, ByAddress: j.route.Client == "ip", Client: &j.client, Room: &j.body,
	}
}

// reject answers a query that the guard rejects.
func (j *job) reject(no *guardfront.Rejection) {
	if no.Rule != "" {
		j.rec.Rule = no.Rule
	}
	if no.Close {
		j.from.Close()
	}
	if no.Body == nil {
		j.from.Abort()
		return
	}
	j.document(no.Status, no.Type, no.Body, j.admission.QuotaFields(no.Fields))
}

// lower replaces the query by the guard's capped one.
func (j *job) lower(v *guard.Verdict) {
	if v.RawQuery != "" {
		path, _, _ := strings.Cut(j.req.Target, "?")
		j.req.Query, j.req.Target = v.RawQuery, path+"?"+v.RawQuery
	}
	if v.Body == nil {
		return
	}
	if need := len(v.Body); need > cap(j.body.bytes) {
		j.body.reserve(int64(need))
		j.body.grow(need)
	}
	j.body.bytes = append(j.body.bytes[:0], v.Body...)
	if j.req.Length >= 0 {
		j.req.Length = int64(len(j.body.bytes))
	}
}

// observed tells the guard how a query ended.
func (j *job) observed(took time.Duration, a dispatch.Answer) {
	if j.route.Guard == nil || j.check == nil {
		return
	}
	r := j.query()
	j.check.Observe(&r, took, j.rec.BytesOut, a.Crashed || a.Kind == dispatch.Refused && a.Attempts > 0)
}
