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
	ID      uint64 // stands for the payload when it has no fingerprint
	Group   string // the downstream that failed; "": the source's
	Before  bool   // it failed in an earlier life: that it fails again says nothing about the rest
	Trial   *Trial // that it was, or nil
}

// Ruling is what a failure is taken for.
type Ruling struct {
	Excused bool      // an outage's, or nobody's: nothing else is to be judged
	Until   time.Time // with Excused: until when the queue is paused; zero: it is not
	Why     string    // for people
	Broke   bool      // the retry budget is used up
}

// warning is for the log, once no lock is held: a log may block, or ask the
// judge how it is.
type warning struct {
	text string
	args []any
}

// Failed judges a delivery that did not end well: is it everything, is it the
// downstream? If it is neither, it is for the caller to ask whether it is the
// message.
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

// failed asks whether all kinds of messages fail alike. The caller holds the lock.
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
	return Ruling{Excused: true, Until: pause.Until, Why: "it is the outage's: " + pause.Why}, tripped
}

// afford takes one retry from the budgets of a queue and a group. The caller
// holds the lock.
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

// First counts first deliveries, which retry budgets are a share of.
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

// Worked takes a delivery that was done. t is the trial that it was, or nil.
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

// Returned takes how a trial ended of which nothing else is to be judged:
// [bezoar.Interrupted] if nobody knows.
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

// count counts the result of a call to a group that was no probe. The caller
// holds the lock.
func (s *groupState) count(now time.Time, failed bool) (changed bool) {
	if s == nil || s.breaker.State(now) != breaker.Closed {
		return false // what was sent before says nothing now
	}
	ticket, _ := s.breaker.Allow(now)
	return s.breaker.Done(now, ticket, breaker.Result{Failed: failed}, rand.Float64())
}
