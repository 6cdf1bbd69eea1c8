package dispatch

import (
	"context"
	"time"

	"github.com/bezoar-dev/bezoar/fleet"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// forsakenPoll is how often the lane's worker is looked at after the caller of
// what it runs has hung up.
const forsakenPoll = 250 * time.Millisecond

// forsaken stays with a suspect whose caller hung up before the answer began:
// what hangs would otherwise go free, and its next copy pin another worker. It
// ends when the worker answers its health check, dies, or is still mute at the
// deadline and is killed for it. It closes the ticket and releases w.
func (c *call) forsaken(ctx context.Context, t blame.Ticket, w *fleet.Worker, res Result) step {
	d, ctx := c.d, context.WithoutCancel(ctx)
	aborted := done(Answer{Kind: Aborted, Result: res, Reason: "the caller hung up"})
	tick := time.NewTicker(forsakenPoll)
	defer tick.Stop()
	for {
		health := d.cfg.Fleet.Settle(ctx, w, fleet.Overdue)
		if health == fleet.Unresponsive && !time.Now().Before(c.target.Deadline) {
			d.cfg.Fleet.Kill(ctx, w, "it does not answer its health check, long after a suspect was given to it alone")
			health = fleet.Gone
		}
		switch health {
		case fleet.Alive:
			d.cfg.Fleet.Release(w)
			d.cfg.Ledger.Finish(t, c.bw.Fingerprint, blame.Abandoned)
			return aborted
		case fleet.Gone:
			d.cfg.Ledger.End(t, blame.Abandoned) // a finding stands
			if f, crashed := d.cfg.Ledger.Finding(t); crashed && !f.Planned {
				c.conclude(ctx, f.Convicted)
			}
			d.cfg.Fleet.Release(w)
			d.cfg.Ledger.Close(t, c.bw.Fingerprint)
			return aborted
		case fleet.Unresponsive: // until the deadline
		}
		select {
		case <-tick.C:
		case <-w.Ended():
		}
	}
}
