package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/judge"
	"github.com/bezoar-dev/bezoar/queue"
)

const (
	reportFor   = 30 * time.Second // one try
	leastReport = 200 * time.Millisecond
	mostReport  = 5 * time.Second
)

// report tells the queue how a delivery ended, and lets go of it. The message's
// place is free for another one before that, as long as not too many wait.
func (d *delivery) report() {
	w := d.w
	defer w.messages.Done()
	defer d.cancel(nil)
	w.reports <- struct{}{}
	defer func() { <-w.reports }()
	if d.placed {
		w.slots.end()
	}
	w.slots.give()
	if d.danger {
		w.dangers.Add(-1)
	}
	e := Event{
		Queue: w.about.Queue, ID: d.m.ID, Receives: d.m.Receives, Class: d.res.class, Reason: d.res.reason, Failure: d.res.failure,
		Elapsed: d.res.elapsed, CPU: d.res.cpu, MaxRSS: d.res.rss, Rows: len(d.res.rows),
	}
	d.settle(&e)
	d.lease.release()
	if d.written {
		d.behind(w.starts.Clear(d.slot))
	}
	w.observe(e)
}

func (d *delivery) settle(e *Event) {
	d.lease.closing.Store(true)
	if errors.Is(context.Cause(d.ctx), errLost) {
		e.Outcome = OutcomeLost
		d.waste()
		if source, ok := d.w.cfg.Source.(Dropper); ok {
			source.Dropped(d.m)
		}
		return
	}
	switch {
	case d.admission.Refuse:
		d.dead(e, OutcomeRefused, d.refusal)
	case d.res.class == bezoar.Done:
		d.done(e)
	case d.res.class == bezoar.Interrupted || d.res.class == bezoar.SpawnFailed || d.excused:
		d.returned(e)
	case d.w.judge == nil:
		e.Outcome = OutcomeReported
		d.release(e, Release{
			Outcome: d.res.outcome(), RetryAfter: d.res.after, Downstream: d.res.downstream, Reject: d.res.class == bezoar.Invalid, Weak: d.res.weak,
		})
	default:
		d.judge(e)
	}
	d.w.learn(d)
}

// done deletes the message, after the letters of its bad rows were written.
func (d *delivery) done(e *Event) {
	e.Outcome = OutcomeDone
	for _, l := range d.letters() {
		if err := d.persist("set a row aside", func(ctx context.Context) error { return d.w.cfg.Source.SetAside(ctx, d.m, l) }); err != nil {
			d.left(e, err)
			return
		}
	}
	if d.persist("delete a message", func(ctx context.Context) error { return d.w.cfg.Source.Done(ctx, d.m) }) != nil {
		e.Outcome = OutcomeLost
	}
	if d.w.judge != nil {
		d.w.judged("note a success", d.w.judge.Done(time.Now(), d.m.ID, d.payload, d.trial))
	}
}

// returned gives a message back that is not to blame.
func (d *delivery) returned(e *Event) {
	w := d.w
	e.Outcome = OutcomeReturned
	d.waste()
	if d.res.spawn != nil {
		w.fail(&SpawnError{Command: w.cfg.Command.name(), Err: d.res.spawn})
	}
	if d.res.spawn != nil || d.receiving.Err() != nil || d.excused && w.doubt.proven.Load() {
		select {
		case <-w.quiet: // or it would come right back
		case <-time.After(reportFor):
		}
	}
	r := Release{Refund: true}
	if d.ran { // it was an attempt
		r.Outcome = d.res.outcome()
	}
	if d.later {
		r.Delay = w.offFor()
	}
	if d.excused {
		r.Outcome.Class = bezoar.Interrupted
		if !w.doubt.proven.Load() {
			r.Delay = doubtPause
		}
	}
	d.release(e, r)
}

// judge does what w.judge decides.
func (d *delivery) judge(e *Event) {
	r := &d.res
	ruling, err := d.w.judge.Failed(time.Now(), judge.Ending{
		ID: d.m.ID, Payload: d.payload, Class: r.class, Failure: r.failure, Reason: r.reason, Votes: r.votes, Span: r.span, Weak: r.weak,
		Downstream: r.downstream, RetryAfter: r.after, Receives: d.m.Receives, Received: d.began, Trial: d.trial,
	})
	d.w.judged("judge a failure", err) // law 11: it is tried again
	if ruling.Dead {
		d.dead(e, OutcomeDead, ruling.Why)
		return
	}
	e.Outcome, e.Why, e.Delay = OutcomeRetry, ruling.Why, min(ruling.Delay, queue.MaxVisibility-time.Minute)
	d.release(e, Release{Delay: e.Delay, RetryAfter: r.after, Outcome: r.outcome()})
}

// dead sets the message aside. Where there is no place for it, it stays.
func (d *delivery) dead(e *Event, outcome Outcome, why string) {
	e.Outcome, e.Why = outcome, why
	o := d.res.outcome()
	o.Reason = cmp.Or(o.Reason, why)
	err := d.persist("set a message aside", func(ctx context.Context) error {
		return d.w.cfg.Source.SetAside(ctx, d.m, Letter{Body: d.m.Body, Outcome: *o, Once: d.m.ID})
	})
	if err != nil {
		d.left(e, err)
		return
	}
	if outcome == OutcomeRefused {
		d.waste()
	}
	if d.persist("delete a message that was set aside", func(ctx context.Context) error { return d.w.cfg.Source.Done(ctx, d.m) }) != nil {
		e.Outcome = OutcomeLost
	}
}

// left leaves a message where it is that ought to be set aside.
func (d *delivery) left(e *Event, err error) {
	e.Outcome, e.Delay = OutcomeLeft, max(d.w.cfg.Retry.Cap, time.Minute)
	if !errors.Is(err, ErrNowhere) {
		e.Why = err.Error()
	} else {
		e.Why = "it ought to be set aside, but " + ErrNowhere.Error() + ": name one"
		d.w.cfg.Log.Error("a message should be set aside, but there is no dead-letter queue: the message stays", "queue", e.Queue, "message", e.ID, "class", e.Class, "reason", e.Reason)
	}
	d.release(e, Release{Delay: e.Delay, Outcome: d.res.outcome()})
}

// release gives the message back.
func (d *delivery) release(e *Event, r Release) {
	if d.persist("give a message back", func(ctx context.Context) error { return d.w.cfg.Source.Release(ctx, d.m, r) }) != nil {
		e.Outcome = OutcomeLost
	}
}

// persist does something until it works, is in vain, or the lease is over.
func (d *delivery) persist(doing string, do func(ctx context.Context) error) error {
	base := context.WithoutCancel(d.ctx)
	for pause := leastReport; ; pause = min(2*pause, mostReport) {
		ctx, cancel := context.WithTimeout(base, reportFor)
		err := do(ctx)
		cancel()
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrLost), errors.Is(err, ErrNowhere), isPermanent(err):
		case time.Now().Add(pause).Before(d.lease.end()):
			d.w.cfg.Log.Warn("cannot "+doing, "message", d.m.ID, "err", err, "again_in", pause)
			sleep(base, pause)
			continue
		}
		if !errors.Is(err, ErrNowhere) {
			d.w.cfg.Log.Error("cannot "+doing, "message", d.m.ID, "err", err)
		}
		return fmt.Errorf("%s: %w", doing, err)
	}
}

func (d *delivery) waste() {
	if d.trial != nil && d.w.judge != nil {
		d.w.judge.Returned(time.Now(), d.trial)
	}
}
