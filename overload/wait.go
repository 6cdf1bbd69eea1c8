package overload

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/bezoar-dev/bezoar/policy/shed"
)

// waiter is one that waits. Its fields belong to the pool's lock.
type waiter struct {
	place   int
	verdict verdict       // waiting until somebody decides
	woken   chan struct{} // gets one value when the verdict is there
	timer   *time.Timer
}

// line decides about work for which there is no slot, or which has a deadline.
// It is called with the lock held and releases it.
func (p *Pool) line(ctx context.Context, r Request, rank shed.Rank, pass Pass) (Pass, *Refusal) {
	now := time.Now()
	if p.level.Overdue(now) || p.long(now) {
		p.advance(now)
	}
	if d, ok := ctx.Deadline(); ok && (r.Deadline.IsZero() || d.Before(r.Deadline)) {
		r.Deadline = d
	}
	v := p.judge(now, r, rank)
	switch v {
	case granted:
		p.inFlight++
		p.counts[rank.Tier()].Admitted++
		p.seats.take(&pass)
		p.mu.Unlock()
		return pass, nil
	case waiting:
		w := p.wait(now, r)
		until := p.cfg.Wait
		last := tooLong
		if !r.Deadline.IsZero() {
			if left := r.Deadline.Sub(now) - p.service.Quick(now); left < until {
				until, last = left, late
			}
		}
		p.mu.Unlock()
		if v = p.sleep(ctx, w, until, last); v == granted {
			pass.waited = time.Since(now)
			p.counts[rank.Tier()].Admitted++
			p.counts[rank.Tier()].Waited++
			p.seats.take(&pass)
			p.mu.Unlock()
			return pass, nil
		}
	default:
	}
	if pass.caller != 0 {
		p.callers.drop(pass.caller)
	}
	return Pass{}, p.refuse(v, r, 0)
}

// judge says whether the work runs, waits or is refused.
func (p *Pool) judge(now time.Time, r Request, rank shed.Rank) verdict {
	quick := p.service.Quick(now)
	switch {
	case shed.Late(now, r.Deadline, quick):
		return late
	case p.inFlight < p.slots:
		return granted
	case p.cfg.Queue == Off:
		return noQueue
	case p.level.Sheds(rank, rand.Float64()):
		return shedRank
	case shed.Late(now, r.Deadline, quick+p.ahead(now, r)):
		return late
	case p.queue.Len() < p.cfg.Queue:
		return waiting
	}
	victim, ok := p.queue.Victim(now, r.Priority)
	if !ok {
		return fullQueue
	}
	p.queue.Remove(victim)
	p.tell(victim, pushedOut)
	return waiting
}

// ahead is how long those take who would be served before r.
func (p *Pool) ahead(now time.Time, r Request) time.Duration {
	served := p.level.Served()
	if served <= 0 {
		return 0
	}
	return time.Duration(float64(p.queue.Ahead(now, r.Priority)) / served * float64(time.Second))
}

// wait puts the work into the queue.
func (p *Pool) wait(now time.Time, r Request) *waiter {
	var w *waiter
	if n := len(p.spare); n > 0 {
		w, p.spare = p.spare[n-1], p.spare[:n-1]
	} else {
		w = &waiter{woken: make(chan struct{}, 1)}
	}
	w.place, w.verdict = p.queue.Push(now, r.Priority, r.Deadline), waiting
	for w.place >= len(p.waiters) {
		p.waiters = append(p.waiters, nil)
	}
	p.waiters[w.place] = w
	p.level.Queued(p.queue.Len())
	return w
}

// tell gives its verdict to who waited at a place that is free now.
func (p *Pool) tell(place int, v verdict) {
	w := p.waiters[place]
	p.waiters[place] = nil
	w.verdict = v
	w.woken <- struct{}{}
}

// sleep waits for the verdict, at most for the time until, at whose end it is
// last. It returns with the lock held.
func (p *Pool) sleep(ctx context.Context, w *waiter, until time.Duration, last verdict) verdict {
	if w.timer == nil {
		w.timer = time.NewTimer(until)
	} else {
		w.timer.Reset(until)
	}
	select {
	case <-w.woken:
	case <-w.timer.C:
	case <-ctx.Done():
		last = gone
	}
	w.timer.Stop()
	hungUp := ctx.Err() != nil

	p.mu.Lock()
	if w.verdict == waiting && !hungUp {
		if now := time.Now(); p.long(now) {
			p.advance(now) // and it may be our turn
		}
	}
	if w.verdict == waiting {
		p.queue.Remove(w.place)
		p.level.Queued(p.queue.Len())
		p.tell(w.place, last)
	}
	v := w.verdict
	select {
	case <-w.woken: // the verdict that crossed with our giving up
	default:
	}
	if len(p.spare) < p.cfg.Queue {
		p.spare = append(p.spare, w)
	}
	if v == granted && hungUp { // must not start
		p.leave(Pass{}, shed.Outcome{Ignored: true})
		return gone
	}
	return v
}
