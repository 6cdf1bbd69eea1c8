package worker

import (
	"context"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/referee"
	"github.com/bezoar-dev/bezoar/internal/starts"
)

// delivery is one message in the worker's hands.
type delivery struct {
	w         *Worker
	m         Message
	began     time.Time       // before its receive was sent
	receiving context.Context //nolint:containedctx // ends when nothing is to start any more
	ctx       context.Context //nolint:containedctx // of its run: ends when that is to stop
	cancel    context.CancelCauseFunc
	lease     *lease
	trial     *referee.Trial

	payload bezoar.Fingerprint
	meeting referee.Meeting
	record  starts.Record
	slot    int
	written bool // in slot
	res     result
}

func (w *Worker) newDelivery(receiving, running context.Context, m Message, began time.Time, trial *referee.Trial) *delivery {
	ctx, cancel := context.WithCancelCause(running)
	m.Queue = w.about.Queue
	d := &delivery{w: w, m: m, began: began, receiving: receiving, ctx: ctx, cancel: cancel, trial: trial}
	d.payload = w.payload(&d.m)
	d.lease = w.hold(ctx, m, began, cancel)
	return d
}

// run brings a message to a result.
func (d *delivery) run() {
	if !d.meet() {
		return
	}
	defer d.company()()
	if d.receiving.Err() != nil || d.ctx.Err() != nil {
		d.res = result{class: bezoar.Interrupted, reason: "the worker stopped before it began"}
		return
	}
	if err := d.write(); err != nil {
		d.res = result{class: bezoar.SpawnFailed, reason: err.Error(), spawn: err}
		return
	}
	d.res = d.attempt(d.m)
	d.rows()
	if cause := context.Cause(d.ctx); d.res.class == bezoar.Interrupted && errors.Is(cause, errLost) {
		return
	}
	d.ended()
}

// meet asks the referee whether the message may run.
func (d *delivery) meet() bool {
	r := d.w.referee
	if r == nil {
		return true
	}
	now := time.Now()
	if d.m.Receives <= 1 {
		r.First(now)
	}
	var err error
	d.meeting, err = r.Meet(now, d.payload, d.trial)
	d.w.judged("look a payload up", err) // law 11: it runs
	if !d.meeting.Refuse {
		return true
	}
	c := d.meeting.Case
	d.res = result{class: c.Class, failure: c.Failure, reason: c.Reason}
	return false
}

// company waits until the message may run beside what else runs, and returns what
// to call when it has ended. One that may kill this process runs alone, so that
// nothing else is suspected then.
func (d *delivery) company() (leave func()) {
	dangerous := d.w.killed(d.payload) || (d.m.Alone || d.meeting.Alone) && !d.w.runner.isolated()
	if !dangerous {
		d.w.alone.RLock()
		return d.w.alone.RUnlock
	}
	d.w.alone.Lock()
	return d.w.alone.Unlock
}

// write writes the start down.
func (d *delivery) write() (err error) {
	j := d.w.journal
	if j == nil {
		return nil
	}
	d.record = starts.Record{
		ID: d.m.ID, Receipt: d.m.Receipt, Queue: d.m.Queue, Group: d.m.Group, Payload: d.payload, At: time.Now().UTC(),
	}
	if d.slot, err = j.Begin(d.record); err != nil {
		return err
	}
	d.written = true
	return nil
}

// amend changes what is written down.
func (d *delivery) amend() {
	if !d.written {
		return
	}
	if err := d.w.journal.Amend(d.slot, d.record); err != nil {
		d.w.cfg.Log.Warn("the journal is behind", "err", err)
	}
}

func (d *delivery) ended() {
	if !d.written {
		return
	}
	d.record.Ended = &starts.Ended{Class: d.res.class, Failure: cut(d.res.failure, 200), Reason: cut(d.res.reason, 500)}
	d.amend()
}

// attempt runs a message, or what is left of it, once.
func (d *delivery) attempt(m Message) result {
	began := time.Now()
	m.Deadline = began.Add(d.w.cfg.Timeout)
	r := d.w.runner.do(d.ctx, &m, func(pid int) {
		d.record.PID, d.record.Since = pid, started(pid)
		d.amend()
	})
	if r.elapsed == 0 {
		r.elapsed = time.Since(began)
	}
	if r.class == bezoar.Throttled && r.after == 0 {
		r.after = patience
	}
	return r
}

func cut(s string, n int) string { return s[:min(len(s), n)] }
