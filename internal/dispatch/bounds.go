package dispatch

import (
	"context"
	"math/rand/v2"
	"time"
)

func randomFloat() float64 { return rand.Float64() }

// waitLeft returns how much longer this call may wait for something.
func (c *call) waitLeft() time.Duration {
	if c.waited.IsZero() {
		c.waited = time.Now().Add(max(c.d.cfg.Wait, c.w.Timeout))
		if by := c.w.Deadline; !by.IsZero() && by.Before(c.waited) {
			c.waited = by
		}
	}
	return time.Until(c.waited)
}

// firstUpWait is how long work waits for a worker if none of the fleet has ever been up: probably none will be up soon.
const firstUpWait = time.Second

// waitForWorker returns how long the call may wait for a worker.
func (c *call) waitForWorker() time.Duration {
	if !c.d.cfg.Fleet.EverUp() {
		return min(firstUpWait, c.waitLeft())
	}
	return c.waitLeft()
}

func (d *Dispatcher) noWorker(err error) string {
	if !d.cfg.Fleet.EverUp() {
		return "no worker of the fleet has been up yet"
	}
	return err.Error()
}

// pastDeadline reports whether the caller's deadline has passed.
func (c *call) pastDeadline() bool {
	return !c.w.Deadline.IsZero() && !time.Now().Before(c.w.Deadline)
}

// unavailable is the answer to work that waited in vain. If the caller's deadline ended the wait, the answer says so.
func (c *call) unavailable(rule, reason string) Answer {
	if c.pastDeadline() {
		return c.expired(reason)
	}
	// Callers come back at different times.
	return Answer{Kind: Unavailable, Rule: rule, Reason: reason, RetryAfter: time.Second + rand.N(2*time.Second)}
}

// expired is the answer to work whose caller no longer waits.
func (c *call) expired(what string) Answer {
	if what != "" {
		what = ": " + what
	}
	return Answer{Kind: TimedOut, Rule: RuleDeadline, Reason: "the caller's deadline has passed" + what}
}

// usableWorkers returns the number of workers for the work. A single worker counts as two, because a connection may break
// only because it was old.
func (c *call) usableWorkers() int {
	n := c.d.cfg.Fleet.Size()
	if c.w.Cells > 1 {
		n = (n + c.w.Cells - 1) / c.w.Cells
	}
	if c.w.Shard > 0 {
		n = min(n, c.w.Shard)
	}
	return max(n, 2)
}

// deliveries returns how often the work may be delivered: once to each worker. If a worker ended with the work, its next
// life counts as another worker.
func (c *call) deliveries() int { return min(c.w.Retry.cfg.Attempts, c.usableWorkers()+c.lost) }

// take takes a retry from the caller's budget and the fleet's, or from neither.
func (c *call) take(now time.Time) bool {
	if !c.budgeted() {
		return c.w.Retry.again(now)
	}
	if !c.w.Budget.again(now, c.w.Caller) {
		return false
	}
	if !c.w.Retry.again(now) {
		c.w.Budget.back(now, c.w.Caller)
		return false
	}
	return true
}

// first counts the first delivery of the work.
func (c *call) first(now time.Time) {
	c.w.Retry.first(now)
	if c.budgeted() {
		c.w.Budget.first(now, c.w.Caller)
	}
}

func (c *call) budgeted() bool { return c.w.Budget != nil && c.w.Caller != 0 }

// budgetWait is how long a retry beyond the budget may wait.
const budgetWait = 2 * time.Second

// waitForBudget takes a retry from the budgets. A retry beyond them waits for a while. So the few additional innocents
// after a crash are not refused, and a large number is held back.
func (c *call) waitForBudget(ctx context.Context) bool {
	d := c.d
	if c.take(time.Now()) {
		return true
	}
	defer d.waitingForBudget.Add(-1)
	if d.waitingForBudget.Add(1) > maxQueue {
		return false
	}
	end := time.Now().Add(min(budgetWait, c.waitLeft()))
	for n := 2; ; n++ {
		left := time.Until(end)
		if left <= 0 || ctx.Err() != nil {
			return false
		}
		pause(ctx, min(c.backoff(n), left))
		if c.take(time.Now()) {
			return true
		}
	}
}

// backoff returns the wait before the n-th retry, counted from 0: a random time between half of its ceiling and all of it.
func (c *call) backoff(n int) time.Duration {
	wait := c.w.Retry.cfg.Backoff.Ceiling(n)
	return wait/2 + time.Duration(float64(wait/2)*randomFloat())
}

// pause waits for d or for the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
