package dispatch

import (
	"context"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// abandonedPoll is how often the lane's worker is checked after the caller of its work has left.
const abandonedPoll = 250 * time.Millisecond

// abandonedRun is work in the lane whose caller no longer waits.
type abandonedRun struct {
	ticket blame.Ticket
	work   blame.Work
	route  string
	keeper ledger.Keeper
	worker *fleet.Worker
	hung   time.Time // when it counts as hanging
}

func (c *call) abandon(t blame.Ticket, k ledger.Keeper, hung time.Time) abandonedRun {
	return abandonedRun{ticket: t, work: c.bw, route: c.w.Route, keeper: k, worker: c.target.Worker, hung: hung}
}

// kept holds what is needed of a suspect after its request is gone.
type kept struct {
	sample  string
	request bezoar.Request
}

func (k kept) Sample() string       { return k.sample }
func (k kept) Keep() bezoar.Request { return k.request }

// callerLeft ends an attempt that took longer than its caller wanted to wait. That says nothing about the work, because
// callers choose their deadlines. The caller gets its answer now, so the lane goes on watching a suspect that runs in it.
func (c *call) callerLeft(ctx context.Context, t blame.Ticket, e *entry, res Result, hung time.Time) step {
	d := c.d
	a := c.expired("the worker had not answered")
	a.Result = res
	if e == nil || res.Begun {
		d.cfg.Fleet.Release(c.target.Worker)
		d.cfg.Ledger.Finish(time.Now(), t, c.bw.Fingerprint, blame.Abandoned)
		return c.done(a)
	}
	c.bw = d.cfg.Ledger.Detach(t) // the request is gone after return
	s := c.abandon(t, kept{c.job.Sample(), c.job.Keep()}, hung)
	if !e.handOver(func(ctx context.Context) { d.watchAbandoned(ctx, s) }) {
		d.watchAbandoned(context.WithoutCancel(ctx), s)
	}
	return c.done(a)
}

// watchAbandoned watches a suspect whose caller left before the answer began. Otherwise work that hangs would go
// unpunished, and its next copy would block another worker. It ends when the worker answers its health check, when it dies,
// when the work counts as hanging and the worker is killed for it, or with ctx. It closes the ticket and releases the
// worker.
func (d *Dispatcher) watchAbandoned(ctx context.Context, s abandonedRun) {
	tick := time.NewTicker(abandonedPoll)
	defer tick.Stop()
	for {
		health := d.cfg.Fleet.Settle(ctx, s.worker, fleet.Overdue)
		if health == fleet.Unresponsive && !time.Now().Before(s.hung) {
			d.cfg.Fleet.Kill(ctx, s.worker, "it does not answer its health check, long after a suspect was given to it alone")
			health = fleet.Gone
		}
		if ctx.Err() != nil {
			health = fleet.Alive // nobody checks any more
		}
		switch health {
		case fleet.Alive:
			d.cfg.Fleet.Release(s.worker)
			d.cfg.Ledger.Finish(time.Now(), s.ticket, s.work.Fingerprint, blame.Abandoned)
			return
		case fleet.Gone:
			d.cfg.Ledger.End(s.ticket, blame.Abandoned) // a finding stays
			if f, crashed := d.cfg.Ledger.Finding(s.ticket); crashed && !f.Planned {
				d.cfg.Ledger.Conclude(ctx, s.work, s.route, s.keeper, f.Convicted)
			}
			d.cfg.Fleet.Release(s.worker)
			d.cfg.Ledger.Close(s.ticket, s.work.Fingerprint)
			return
		case fleet.Unresponsive: // until it counts as hanging
		}
		select {
		case <-tick.C:
		case <-s.worker.Ended():
		case <-ctx.Done():
		}
	}
}
