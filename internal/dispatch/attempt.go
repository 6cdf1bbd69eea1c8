package dispatch

import (
	"context"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// fleet makes attempts in the fleet until one byte has left. Earlier failures are the worker's, not the work's.
func (c *call) fleet(ctx context.Context, t blame.Ticket, canary bool) step {
	d := c.d
	want := c.want()
	want.Canary = canary
	for {
		want.Avoid = c.avoid
		w := d.cfg.Fleet.TryAcquire(want)
		if w == nil {
			var s step
			if w, s = c.acquire(ctx, t, want); w == nil {
				return s
			}
		}
		s, sent := c.attempt(ctx, t, w, nil)
		if sent {
			return s
		}
		c.now = time.Time{}
		if s == stepAgain {
			s = c.mayRedial(ctx)
		}
		if s == stepDone {
			d.cfg.Ledger.Close(t, c.bw.Fingerprint)
			return s
		}
	}
}

// want is which workers the work may have.
func (c *call) want() fleet.Want {
	if c.w.Sticky != 0 {
		return fleet.Want{Caller: c.w.Sticky, Shard: 1, Overflow: fleet.OverflowDown}
	}
	return fleet.Want{Caller: c.w.Caller, Shard: c.w.Shard, Cells: c.w.Cells, Overflow: c.w.Overflow}
}

// acquire waits for a worker. Without one it has closed the ticket, or given it back.
func (c *call) acquire(ctx context.Context, t blame.Ticket, want fleet.Want) (*fleet.Worker, step) {
	d := c.d
	c.now = time.Time{}
	want.Gone = c.job.Gone
	wctx, cancel := context.WithTimeout(ctx, c.waitForWorker())
	w, err := d.cfg.Fleet.Acquire(wctx, want)
	cancel()
	switch {
	case err == nil && c.overtaken(t, w):
		return nil, stepAgain
	case err == nil:
		return w, stepDone
	}
	d.cfg.Ledger.Close(t, c.bw.Fingerprint)
	if c.job.Gone() {
		return nil, c.done(Answer{Kind: Aborted, Result: Result{Fault: CallerGone}, Reason: "the caller hung up"})
	}
	return nil, c.done(c.unavailable(RuleUnavailable, d.noWorker(err)))
}

// overtaken reports whether the work has been convicted, or must run alone, since it began to wait for w. Then it has given
// w and the ticket back.
func (c *call) overtaken(t blame.Ticket, w *fleet.Worker) bool {
	if c.redrive || c.isolate || !c.d.cfg.Ledger.Overtaken(t) {
		return false
	}
	c.d.cfg.Fleet.Release(w)
	c.d.cfg.Ledger.Close(t, c.bw.Fingerprint)
	return true
}

// mayRedial decides about another try after a failure before the first byte, and waits before it. The first further try
// does not wait, because another worker is probably well. A worker that lives and cannot be reached is overloaded, or its
// network is. So later tries are paid from the budget, and each worker gets one. A worker that has ended costs nothing.
func (c *call) mayRedial(ctx context.Context) step {
	c.dials++
	if !c.gone {
		c.refusals++
	}
	switch {
	case c.waitLeft() <= 0, c.refusals >= c.usableWorkers():
		return c.done(c.unavailable(RuleUnavailable, "no worker could be reached: "+c.reason))
	case !c.gone && !c.waitForBudget(ctx):
		return c.done(c.unavailable(RuleBudget, "the budget of retries is used up, and a worker could not be reached: "+c.reason))
	}
	c.d.retries.Add(1)
	if c.dials > 1 {
		pause(ctx, min(c.backoff(c.dials-1), max(c.waitLeft(), 0)))
	}
	switch {
	case ctx.Err() != nil:
		return c.done(Answer{Kind: Aborted, Reason: "the caller hung up"})
	case c.pastDeadline():
		return c.done(c.expired("no worker could be reached: " + c.reason))
	}
	return stepAgain
}

// attempt delivers the work to w once, and releases w. e is its place in the lane; nil in the fleet. If no byte left, sent
// is false, step says whether another worker may be tried, and the ticket is still open. Otherwise the ticket is closed.
func (c *call) attempt(ctx context.Context, t blame.Ticket, w *fleet.Worker, e *entry) (s step, sent bool) {
	d := c.d
	inLane := e != nil
	to := &c.target
	*to = Target{}
	to.Worker, to.Epoch, to.Lane, to.By = w, w.Epoch(), inLane, c.w.Deadline
	to.ledger, to.ticket, to.fleet = d.cfg.Ledger, t, d.cfg.Fleet
	if inLane {
		to.began = &e.began
	} else {
		to.Now = c.now
	}
	if err := c.job.Connect(ctx, &c.target); err != nil {
		return c.unconnected(ctx, w, err), false
	}
	now := c.target.Now
	if now.IsZero() {
		now = time.Now()
	}
	hung := now.Add(c.w.Timeout) // independent of the caller's deadline
	c.target.Deadline, c.target.sent = hung, now
	if by := c.w.Deadline; !by.IsZero() && by.Before(hung) {
		c.target.Deadline = by
	}
	if !d.cfg.Ledger.Begin(now, t, &c.bw, c.target.Epoch, hung, inLane) {
		c.job.Drop()
		return c.unsent(ctx, w, "the worker ended"), false
	}
	d.attempts.Add(1)
	if c.attempts == 0 {
		c.first(now)
	}
	c.attempts++
	c.target.Attempt = c.attempts
	res := c.job.Send(ctx, &c.target)
	c.target.endStream()
	if res.Fault != NoFault {
		return c.faulted(ctx, t, w, e, &res, hung)
	}
	if now = res.At; now.IsZero() {
		now = time.Now()
	}
	c.observe(now, &res)
	d.cfg.Fleet.Release(w)
	d.cfg.Ledger.Finish(now, t, c.bw.Fingerprint, blame.Survived)
	c.answer = Answer{}
	c.answer.Kind, c.answer.Result = Answered, res
	return stepDone, true
}
