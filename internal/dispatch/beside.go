package dispatch

import (
	"context"
	"time"

	"github.com/bezoar-dev/bezoar/policy/blame"
)

// beside makes one attempt on the worker that has an epoch, beside copies of the work. If that worker has no room, or is
// none of the caller's, the work waits as before.
func (c *call) beside(ctx context.Context, t blame.Ticket, epoch uint64) step {
	want := c.want()
	want.Epoch = epoch
	w := c.d.cfg.Fleet.TryAcquire(want)
	if w == nil {
		c.d.cfg.Ledger.Withdraw(t)
		return c.await(ctx, nil, time.Time{})
	}
	s, sent := c.attempt(ctx, t, w, nil)
	if sent {
		return s
	}
	c.d.cfg.Ledger.Withdraw(t)
	if s == stepAgain {
		s = c.mayRedial(ctx)
	}
	return s
}
