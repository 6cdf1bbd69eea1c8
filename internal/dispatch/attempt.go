package dispatch

import (
	"context"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/gateway/connlimit"
	"github.com/bezoar-dev/bezoar/policy/balance"
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

// unconnected releases a worker to which there is no connection.
func (c *call) unconnected(ctx context.Context, w *fleet.Worker, err error) step {
	if connlimit.Exhausted(err) {
		return c.exhausted(ctx, w, err)
	}
	return c.unsent(ctx, w, err.Error())
}

// faulted ends an attempt that failed, as attempt does. It is a function of its own so that the stack of one that succeeds
// stays small: each request in flight has a stack, and together they should fit into the processor's cache.
func (c *call) faulted(ctx context.Context, t blame.Ticket, w *fleet.Worker, e *entry, failed *Result, hung time.Time) (s step, sent bool) {
	d, res, inLane := c.d, *failed, c.target.Lane
	if (res.Fault == OverdueHead || res.Fault == CallerGone && !res.Begun) && c.pastDeadline() {
		return c.callerLeft(ctx, t, e, res, hung), true
	}
	now := res.At
	if now.IsZero() {
		now = time.Now()
	}
	switch res.Fault {
	case Unsent:
		c.attempts--
		d.attempts.Add(^uint64(0))
		d.cfg.Ledger.End(t, blame.Unsent)
		return c.unsent(ctx, w, errText(res.Err)), false
	case Unfit:
		c.attempts--
		d.attempts.Add(^uint64(0))
		d.cfg.Ledger.End(t, blame.Unsent)
		d.cfg.Fleet.Release(w)
		return c.done(Answer{Kind: Aborted, Result: res, Reason: errText(res.Err)}), false
	case CallerGone:
		if inLane && !res.Begun {
			d.watchAbandoned(context.WithoutCancel(ctx), c.abandon(t, c.job, hung))
			return c.done(Answer{Kind: Aborted, Result: res, Reason: "the caller hung up"}), true
		}
		d.cfg.Fleet.Release(w)
		d.cfg.Ledger.Finish(now, t, c.bw.Fingerprint, blame.Abandoned)
		return c.done(Answer{Kind: Aborted, Result: res, Reason: "the caller hung up"}), true
	case BadAnswer:
		c.observe(now, &res)
		d.cfg.Fleet.Release(w)
		d.cfg.Ledger.Finish(now, t, c.bw.Fingerprint, blame.Survived)
		if res.Begun {
			return c.done(Answer{Kind: Cut, Result: res}), true
		}
		return c.done(Answer{Kind: Failed, Result: res, Reason: "the worker's answer is not valid: " + errText(res.Err)}), true
	case NoFault, BrokenConn, OverdueHead: // judged below
	}
	return c.judge(ctx, t, w, res), true
}

// unsent releases a worker that could not be reached. It asks the worker's keeper about it, so that a dead worker gets no
// more work.
func (c *call) unsent(ctx context.Context, w *fleet.Worker, reason string) step {
	c.d.cfg.Fleet.Release(w)
	if ctx.Err() != nil {
		return c.done(Answer{Kind: Aborted, Reason: "the caller hung up"})
	}
	c.avoid, c.reason = w.Name(), reason
	c.gone = c.d.cfg.Fleet.Settle(ctx, w, fleet.Broken) == fleet.Gone
	if !c.gone && !c.target.Lane {
		// That is never the fault of the work, however often it happens.
		c.d.cfg.Fleet.Observe(time.Now(), w, balance.Outcome{Failed: true, Caller: c.w.Caller})
	}
	return stepAgain
}

// exhausted releases a worker that was not contacted because this process has no descriptor for a connection. That says
// nothing about the worker.
func (c *call) exhausted(ctx context.Context, w *fleet.Worker, err error) step {
	c.d.cfg.Fleet.Release(w)
	if ctx.Err() != nil {
		return c.done(Answer{Kind: Aborted, Reason: "the caller hung up"})
	}
	c.gone, c.reason = true, err.Error()
	return stepAgain
}

// observe tells the fleet how an attempt ended. Work in the lane is suspect already, so it says nothing about its worker.
// The same is true for work that failed before.
func (c *call) observe(now time.Time, res *Result) {
	if c.target.Lane {
		return
	}
	o := balance.Outcome{Status: res.Status, Failed: res.Fault != NoFault, Caller: c.w.Caller, Repeat: c.failed}
	if o.Latency = c.target.took; o.Latency == 0 {
		o.Latency = now.Sub(c.target.sent)
	}
	c.d.cfg.Fleet.Observe(now, c.target.Worker, o)
}

// judge finds out what happened to a worker that broke off or fell silent, and decides about the work. It closes the
// ticket.
func (c *call) judge(ctx context.Context, t blame.Ticket, w *fleet.Worker, res Result) step {
	d, inLane := c.d, c.target.Lane
	doubt, strike := fleet.Broken, blame.Faulted
	if res.Fault == OverdueHead {
		doubt, strike = fleet.Overdue, blame.TimedOut
	}
	health := d.cfg.Fleet.Settle(ctx, w, doubt)
	if health == fleet.Unresponsive && doubt == fleet.Overdue {
		d.cfg.Fleet.Kill(context.WithoutCancel(ctx), w, "it answers neither its health check nor a request that is overdue")
	}
	now := time.Now()
	if health != fleet.Gone {
		c.observe(now, &res)
	}
	c.failed = true
	c.ran = now.Sub(c.target.sent)
	d.cfg.Ledger.End(t, strike) // a finding stays
	f, crashed := d.cfg.Ledger.Finding(t)
	d.cfg.Fleet.Release(w)
	c.avoid, c.reason = w.Name(), errText(res.Err)
	if inLane && f.Convicted && !c.confirmed() {
		f.Convicted, f.Gated = false, true
	}

	if crashed && !f.Planned || !crashed && d.struck(c) {
		convicted := f.Convicted || !crashed
		v, held := c.conclude(ctx, convicted)
		if held && convicted && !res.Begun && (!c.reports() || v.Manual) {
			d.cfg.Ledger.Close(t, c.bw.Fingerprint)
			return c.done(Answer{Kind: Refused, Rule: RuleQuarantine, Verdict: v, Reason: v.Reason, RetryAfter: max(time.Until(v.Until), time.Second), Result: res})
		}
	}
	d.cfg.Ledger.Close(t, c.bw.Fingerprint)
	switch {
	case inLane && f.Company:
		c.doubtCompany(f)
		c.met++
		d.meet(c, c.target.Epoch, f.Alone)
	case inLane:
		c.single, c.hold, c.likely = true, 0, 0
		if crashed && !f.Planned {
			c.died++
		}
	}
	s := c.after(ctx, f, crashed, res)
	c.answer.Crashed = crashed && !f.Planned
	return s
}

// confirmation is how long a conviction in the lane waits for signs that other workers ended together with its worker.
// Copies wait as long.
const confirmation = 100 * time.Millisecond

// confirmed waits a moment and reports whether the conviction stands.
func (c *call) confirmed() bool {
	timer := time.NewTimer(confirmation)
	defer timer.Stop()
	<-timer.C
	return c.d.cfg.Ledger.Convicted(c.bw)
}

// struck reports whether the work stands convicted after a strike.
func (d *Dispatcher) struck(c *call) bool { return d.cfg.Ledger.Convicted(c.bw) }

// maxFree bounds the attempts that are given back.
const maxFree = 8

// maxDied bounds the workers that one piece of work may cost in the lane while convictions are suspended.
const maxDied = 2

// maxMet bounds the workers that die in the lane with one piece of work and others: halving a company of 512 takes ten.
const maxMet = 16

// after decides what happens to work whose attempt failed without a conviction.
func (c *call) after(ctx context.Context, f blame.Finding, crashed bool, res Result) step {
	what := "the connection to the worker broke"
	switch {
	case crashed && f.Planned:
		what = "the worker was taken down"
	case crashed:
		what = "the worker died while it had this request"
	case res.Fault == OverdueHead:
		what = "the worker did not answer in time"
	}
	if crashed {
		c.lost++
	}
	switch {
	case f.Company:
		c.free++ // others were in flight, and the cause is unknown
	case f.Planned || f.Gated:
		c.free++ // law 6: the work is not the cause, so the attempt is given back
	}
	spent := c.attempts-c.free >= c.deliveries() || c.free-c.met > maxFree || c.died > maxDied || c.met > maxMet
	switch {
	case res.Begun:
		return c.done(Answer{Kind: Cut, Result: res, Reason: what})
	case c.redrive:
		return c.done(Answer{Kind: Failed, Result: res, Reason: what})
	case !crashed && res.Fault == OverdueHead:
		return c.done(Answer{Kind: TimedOut, Result: res, Reason: what})
	case !c.w.Replayable || c.w.Off:
		return c.done(Answer{Kind: Failed, Result: res, Reason: what + ", and it may not be run again"})
	case crashed && !f.Planned && c.reports():
		return c.done(Answer{Kind: Failed, Result: res, Reason: what + ", and it does not run again alone because its route only reports"})
	case spent && (f.Gated || f.Planned):
		a := c.unavailable(RuleUnavailable, "the fleet is in trouble: "+what)
		a.Result = res
		return c.done(a)
	case spent:
		return c.done(Answer{Kind: Failed, Result: res, Reason: what + ", as in its earlier attempts"})
	case crashed:
		// It runs again in the lane, which has a separate pace.
		c.w.Retry.count(time.Now())
	case !c.waitForBudget(ctx):
		a := c.unavailable(RuleBudget, "the budget of retries is used up, and "+what)
		a.Result = res
		return c.done(a)
	}
	c.d.retries.Add(1)
	c.isolate = !crashed && !c.reports()
	return stepAgain
}

func errText(err error) string {
	if err == nil {
		return "no cause is known"
	}
	return err.Error()
}
