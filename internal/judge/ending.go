package judge

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/outage"
)

// Failure is a delivery that did not end well.
type Failure struct {
	Class   bezoar.Class
	Failure string // failure fingerprint
	Payload bezoar.Fingerprint
	ID      uint64 // identifies the payload if it has no fingerprint
	Group   string // the downstream that failed; "": the source's
	Before  bool   // it failed in an earlier life, so another failure says nothing about other messages
	Trial   *Trial // nil: the delivery was no trial
}

// Ruling is the judgement on a failure.
type Ruling struct {
	Excused bool      // an outage is the cause, or nobody: do not judge it further
	Until   time.Time // with Excused: end of the queue's pause; zero: not paused
	Why     string    // for people
	Broke   bool      // the retry budget is used up
}

// warning is a log line for later, when no lock is held: a log may block, or ask the judge for its state.
type warning struct {
	text string
	args []any
}

// Failed judges a delivery that did not end well: does everything fail, or the downstream? If neither, the caller must ask
// whether the message is the cause.
func (j *Judge) Failed(ctx context.Context, now time.Time, src Source, f Failure) (r Ruling) {
	if Excused(f.Class) {
		j.Returned(ctx, now, f.Trial, f.Class, "")
		return Ruling{Excused: true, Why: "it is not to blame"}
	}
	group := f.Group
	group = cmp.Or(group, src.Group)
	var changed []state
	var told []warning
	j.mu.Lock()
	qs, gs := j.queueState(src.Queue, true), j.groupState(group, true)
	if f.Trial != nil {
		changed = j.tried(now, f.Trial, f.Class, f.Failure)
	}
	if qs != nil {
		tripped := false
		r, tripped = qs.failed(now, f, &told, src.Queue)
		if tripped {
			changed = append(changed, qs)
		}
	}
	probed := f.Trial != nil && f.Trial.probe && f.Trial.group == group
	if !probed && gs != nil && BlamesDownstream(f.Class) && gs.count(now, true) {
		changed = append(changed, gs)
		told = append(told, warning{"breaker opened", []any{"group", gs.name, "why", gs.breaker.Snapshot().Reason}})
	}
	if !r.Excused {
		r.Broke = !afford(now, src, qs, gs)
	}
	j.mu.Unlock()
	for _, w := range told {
		j.cfg.Log.Warn(w.text, w.args...)
	}
	j.publish(ctx, now, changed...)
	return r
}

// failed checks whether all kinds of messages fail in the same way. The caller holds the lock.
func (s *queueState) failed(now time.Time, f Failure, told *[]warning, queue string) (r Ruling, tripped bool) {
	alike := Alike(f.Class, f.Failure)
	if !s.guard.Excuses(alike) {
		if f.Before {
			return r, false
		}
		trip := s.guard.Failed(now, alike, f.Payload, f.ID)
		if trip == nil {
			return r, false
		}
		tripped = true
		*told = append(*told, warning{"queue paused: it looks like an outage", []any{"queue", queue, "until", trip.Until, "failure", trip.Failure, "why", trip.Why}})
	}
	pause, _ := s.guard.Paused()
	return Ruling{Excused: true, Until: pause.Until, Why: "an outage is the cause: " + pause.Why}, tripped
}

// afford takes one retry from the budgets of a queue and a group. The caller holds the lock.
func afford(now time.Time, src Source, qs *queueState, gs *groupState) bool {
	ok := true
	if qs != nil {
		qs.budget.Config = src.Budget
		ok = qs.budget.Retry(now)
	}
	if ok && gs != nil {
		gs.budget.Config = src.Budget
		ok = gs.budget.Retry(now)
	}
	return ok
}

// First counts first deliveries. Retry budgets are a share of them.
func (j *Judge) First(now time.Time, src Source, n int) {
	if n == 0 || j.Quiet() {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	qs, gs := j.queues[src.Queue], j.groups[src.Group]
	for range n {
		if qs != nil {
			qs.budget.First(now)
		}
		if gs != nil {
			gs.budget.First(now)
		}
	}
}

// Worked records a delivery that was done. t is its trial; nil if it was none.
func (j *Judge) Worked(ctx context.Context, now time.Time, src Source, payload bezoar.Fingerprint, id uint64, t *Trial) {
	if j.Quiet() {
		return
	}
	j.publish(ctx, now, j.worked(now, src, payload, id, t)...)
}

func (j *Judge) worked(now time.Time, src Source, payload bezoar.Fingerprint, id uint64, t *Trial) (changed []state) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if t != nil {
		changed = j.tried(now, t, bezoar.Done, "")
		if t.probe {
			return changed
		}
	}
	if s := j.queues[src.Queue]; s != nil {
		s.guard.Succeeded(now, payload, id)
	}
	if s := j.groups[src.Group]; s.count(now, false) {
		changed = append(changed, s)
	}
	return changed
}

// Returned records how a trial ended if nothing else of the delivery is judged: [bezoar.Interrupted] if it is not known.
func (j *Judge) Returned(ctx context.Context, now time.Time, t *Trial, class bezoar.Class, failure string) {
	if t == nil {
		return
	}
	j.mu.Lock()
	changed := j.tried(now, t, class, failure)
	j.mu.Unlock()
	j.publish(ctx, now, changed...)
}

// tried tells queue and group how a trial ended. The caller holds the lock.
func (j *Judge) tried(now time.Time, t *Trial, class bezoar.Class, failure string) (changed []state) {
	r, end := breaker.Result{Ignored: true}, outage.Lost
	switch {
	case class == bezoar.Done:
		r.Ignored, end = false, outage.Worked
	case Excused(class):
	default:
		r = breaker.Result{Failed: true, Ignored: !BlamesDownstream(class)}
		if !t.Alone && class != bezoar.Invalid {
			end = outage.Failed
		}
	}
	if s := j.groups[t.group]; s != nil && t.probe && s.breaker.Done(now, t.ticket, r, rand.Float64()) {
		changed = append(changed, s)
	}
	if s := j.queues[t.queue]; s != nil && t.canary != 0 && s.guard.Returned(now, t.canary, end, failure) {
		changed = append(changed, s)
	}
	return changed
}

// count counts the result of a call to a group that was no probe. The caller holds the lock.
func (s *groupState) count(now time.Time, failed bool) (changed bool) {
	if s == nil || s.breaker.State(now) != breaker.Closed {
		return false // earlier calls say nothing now
	}
	ticket, _ := s.breaker.Allow(now)
	return s.breaker.Done(now, ticket, breaker.Result{Failed: failed}, rand.Float64())
}
