package gateway

import (
	"errors"
	"net/http"
	"time"

	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// Fallback is the answer if no worker can be asked. Exactly one of Static, Stale and Other is set.
type Fallback struct {
	On     []admission.FallbackCause // empty: all
	Static *admission.Static         // always the same
	Stale  *admission.Stale          // the last good answer to the same GET
	Other  Doer                      // another fleet answers, within its own limits
	Base   string                    // of Other's workers, in the form of a Route's Base
	Known  *redact.Values            // of Other's workers, in the form of a Route's Known
}

// fallBack answers a request for which no worker can be asked. It returns false if no fallback can answer.
func (j *job) fallBack(on admission.FallbackCause) bool {
	t := j.route.policy
	if t == nil || on == "" {
		return false
	}
	for i := range j.route.Fallback {
		f := &j.route.Fallback[i]
		if !admission.Covers(f.On, on) {
			continue
		}
		done := false
		switch {
		case f.Static != nil:
			done = j.fallStatic(f.Static, on)
		case f.Stale != nil:
			done = j.fallStale(f.Stale, on)
		case f.Other != nil:
			done = j.fallOther(f, on)
		}
		if done {
			return true
		}
	}
	if t.Optional {
		j.rec.Fallback = admission.KindDegraded
		j.send(http.StatusNoContent, append(j.resp.Fields[:0], h1.Field{Name: admission.DegradedField, Value: string(on)}), nil)
		return true
	}
	return false
}

func (j *job) fallStatic(s *admission.Static, on admission.FallbackCause) bool {
	j.rec.Fallback = admission.KindStatic
	j.send(s.Code(), s.Fields(append(j.resp.Fields[:0], admission.Mark(admission.KindStatic, on))), s.Body)
	return true
}

func (j *job) fallStale(s *admission.Stale, on admission.FallbackCause) bool {
	if !j.reads() {
		return false
	}
	a, age, ok := j.route.policy.Cache.Get(j.staleKey(), time.Now(), s.MaxAge)
	if !ok {
		return false
	}
	j.rec.Fallback = admission.KindStale
	j.send(a.Status, admission.StaleFields(a, age, on), a.Body)
	return true
}

// fallOther makes another fleet do the work. It returns false if that fleet has no worker either.
func (j *job) fallOther(f *Fallback, on admission.FallbackCause) bool {
	j.admission.Release(time.Now()) // what follows says nothing about the route's own fleet
	if j.other = f; j.prepared {    // prepared for other workers
		j.secrets.forget()
		j.forward()
		j.know()
	}
	if err := j.prepare(); errors.Is(err, errAnswered) {
		return true
	} else if err != nil {
		j.badUpload(err)
		return true
	}
	j.marked = admission.Mark(admission.KindOther, on)
	a := f.Other.Do(j.ctx, j.work(), j)
	if a.Kind == dispatch.Unavailable && j.from.Reset() {
		j.marked = h1.Field{}
		return false
	}
	j.rec.Fallback = admission.KindOther
	j.conclude(a)
	return true
}
