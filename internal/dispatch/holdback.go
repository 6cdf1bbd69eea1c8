package dispatch

import (
	"context"
	"time"

	"github.com/bezoar-dev/bezoar/policy/blame"
)

// mostHeld bounds how long work is held back while a fleet recovers. After that it runs; nothing is refused.
const mostHeld = 10 * time.Second

// admit asks where the work goes. While most of the fleet has just died, unproven work waits in a line, and the first in it
// asks again. The line is as long as the number of callers. ok is false if the work must be checked anew, because its
// caller may have left.
func (c *call) admit(ctx context.Context) (t blame.Ticket, dec blame.Decision, wait <-chan struct{}, ok bool) {
	d := c.d
	if c.now.IsZero() {
		c.now = time.Now()
	}
	t, dec, wait = d.cfg.Ledger.AdmitAt(c.now, c.bw)
	if dec.Action != blame.HoldBack {
		return t, dec, wait, true
	}
	return c.holdBack(ctx, t, dec)
}

// holdBack waits until the fleet has recovered, and admits the work.
func (c *call) holdBack(ctx context.Context, t blame.Ticket, dec blame.Decision) (_ blame.Ticket, _ blame.Decision, wait <-chan struct{}, ok bool) {
	d := c.d
	c.now = time.Time{}
	d.heldBack.Add(1)
	d.holding.Add(1)
	defer d.holding.Add(-1)
	over := time.NewTimer(min(mostHeld, max(c.waitLeft(), 0)))
	defer over.Stop()
	select {
	case d.line <- struct{}{}:
		defer func() { <-d.line }()
	case <-over.C:
		c.bw.Waited = true
	case <-d.hurried:
		c.bw.Waited = true
	case <-ctx.Done():
		return t, dec, nil, false
	}
	for {
		t, dec, wait = d.cfg.Ledger.Admit(c.bw)
		if dec.Action != blame.HoldBack {
			return t, dec, wait, true
		}
		select {
		case <-time.After(time.Until(dec.Until)):
		case <-over.C:
			c.bw.Waited = true
		case <-d.hurried:
			c.bw.Waited = true
		case <-ctx.Done():
			return t, dec, nil, false
		}
	}
}
