package flow

import (
	"context"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// start runs an attempt here.
func (l *loop) start(ctx context.Context, j *job) {
	token := j.attempt.Token
	l.local[token] = j
	spec := j.spec
	spec.Token = token
	if j.inst != nil && j.inst.stop != nil { // it was stopped while the batch was written
		l.stopJob(ctx, Stop{token, interrupted, j.inst.stop.why})
	}
	l.jobs.Go(func() {
		end, ok := l.attempt(ctx, spec)
		if ok {
			l.tell(end)
		}
	})
}

func (l *loop) tell(e ending) {
	select {
	case l.ends <- e:
	case <-l.dead:
	}
}

// attempt runs one attempt to its end. ok is false if ctx ended first.
func (l *loop) attempt(ctx context.Context, s Spec) (end ending, ok bool) {
	end = ending{token: s.Token, started: time.Now()}
	if err := l.exec.Start(ctx, s); err != nil {
		if ctx.Err() != nil || !l.absent(ctx, s.Token, 0) {
			return end, false
		}
		end.Ending = Ending{Class: bezoar.SpawnFailed, Reason: err.Error()}
		return end, true
	}
	var err error
	if end.Ending, err = l.exec.Wait(ctx, s.Token); err != nil {
		if ctx.Err() != nil || !l.absent(ctx, s.Token, 0) {
			return end, false
		}
		end.Ending = Ending{Class: bezoar.Interrupted, Reason: "its end is unknown: " + err.Error()}
	}
	if end.Elapsed == 0 {
		end.Elapsed = time.Since(end.started)
	}
	return end, true
}

// absent waits until no process of an attempt runs. It waits without limit, unless limit is more than 0.
func (l *loop) absent(ctx context.Context, token int64, limit time.Duration) bool {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, l.cfg.Lease) {
		err := l.exec.Absent(ctx, token)
		if err == nil {
			return true
		}
		if ctx.Err() == nil {
			l.log.WarnContext(ctx, "it is not proven that an attempt has ended: the next one waits", "attempt", token, "err", err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false
		}
	}
}

// exhume makes sure that an attempt of an earlier life of this node is gone.
func (l *loop) exhume(ctx context.Context, j *job) {
	token := j.attempt.Token
	l.local[token] = j
	l.jobs.Go(func() {
		if !l.absent(ctx, token, 0) {
			return
		}
		end, err := l.exec.Wait(ctx, token) // it may have ended before its end was stored
		if err != nil || end.Class == bezoar.Interrupted {
			end = Ending{Class: bezoar.Interrupted, Lost: true, Reason: "Bezoar was killed, or its machine, while it ran"}
		}
		l.tell(ending{token: token, started: j.attempt.Started, Ending: end})
	})
}

func (l *loop) stopJob(ctx context.Context, s Stop) {
	if l.unhold(s) {
		return
	}
	l.jobs.Go(func() {
		if err := l.exec.Stop(ctx, s.Token, s.Class, s.Why); err != nil && ctx.Err() == nil {
			l.log.WarnContext(ctx, "an attempt could not be stopped", "attempt", s.Token, "err", err)
		}
	})
}

// end handles the end of an attempt on this node.
func (l *loop) end(ctx context.Context, e ending) {
	j := l.local[e.token]
	if j == nil {
		return
	}
	if e.Class == bezoar.Interrupted && l.stopping && !e.Lost {
		e.Free = true
	}
	if j.plan == nil {
		delete(l.local, e.token)
		delete(l.seen, e.token)
		l.reports = append(l.reports, over(j.attempt, e, time.Now()))
		return
	}
	if l.keepRows(ctx, j, e) {
		return
	}
	delete(l.local, e.token)
	l.finish(ctx, j, e)
}

func over(a Attempt, e ending, now time.Time) Attempt {
	a.State, a.Started, a.Ended, a.Ending = AttemptEnded, e.started, now, e.Ending
	return a
}

// keepRows turns the bad rows of a successful attempt into dead letters before its end is stored. An attempt that failed is
// tried again, and names them again. It reports whether it will pass the end on again afterwards.
func (l *loop) keepRows(ctx context.Context, j *job, e ending) bool {
	if len(e.Rows) == 0 || e.rowsKept || e.Class != bezoar.Done {
		return false
	}
	run, all, left, err := rowRun(&j.plan.run, &j.inst.Instance, &j.attempt, e.Rows[:min(len(e.Rows), MaxRows)], time.Now())
	if left > 0 {
		l.log.WarnContext(ctx, "bad rows cannot be tried alone, and stay with their attempt",
			"run", j.attempt.Run, "task", j.attempt.Task, "rows", left, "err", err)
	}
	if err != nil || len(all) < 2 {
		return false
	}
	e.rowsKept = true
	l.jobs.Go(func() {
		if l.createRows(ctx, run, all) {
			l.tell(e)
		}
	})
	return true
}

// createRows stores a run of bad rows. It waits while the store does not answer.
func (l *loop) createRows(ctx context.Context, run Run, all []Instance) bool {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := l.store.CreateRun(ctx, run, all)
		switch {
		case err == nil:
			l.log.WarnContext(ctx, "a task reported bad rows: they wait for a person", "flow", run.Flow, "rows", len(all)-1, "run", run.ID)
			l.Wake()
			return true
		case errors.Is(err, ErrExists): // an earlier life stored them and was killed then
			return true
		case ctx.Err() != nil:
			return false
		}
		l.log.ErrorContext(ctx, "bad rows were not stored; it is tried again", "err", err, "in", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false
		}
	}
}

// finish handles the end of an attempt that this node planned.
func (l *loop) finish(ctx context.Context, j *job, e ending) {
	now := time.Now()
	if j.attempt.State != AttemptEnded { // otherwise its node has stored the end
		l.ended = append(l.ended, over(j.attempt, e, now))
	}
	l.result(ctx, j, e.Ending, now)
	if j.attempt.Key != "" {
		l.unkey(j.attempt.Key, 1)
	}
	if j.attempt.Pool != "" {
		for _, p := range l.round {
			for _, lane := range p.ready.all {
				if lane.pool == j.attempt.Pool && lane.downstream == "" {
					lane.blocked = time.Time{}
				}
			}
		}
	}
	if j.inst.attempt != nil && j.inst.attempt.Token == j.attempt.Token {
		j.plan.ended(j.inst, e.Ending, now)
	}
}

// unkey lets instances that waited for a concurrency key try again.
func (l *loop) unkey(key string, most int) {
	all := l.keyed[key]
	for len(all) > 0 && most > 0 {
		all[0].plan.back(all[0].inst)
		all = all[1:]
		most--
	}
	if len(all) == 0 {
		delete(l.keyed, key)
		return
	}
	l.keyed[key] = all
}
