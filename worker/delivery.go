package worker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/judge"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
	"github.com/bezoar-dev/bezoar/internal/state/startlog"
	"github.com/bezoar-dev/bezoar/queue"
)

// delivery is one message that the worker received.
type delivery struct {
	w         *Worker
	m         Message
	began     time.Time       // before its receive was sent
	receiving context.Context //nolint:containedctx // ends when nothing is to start any more
	ctx       context.Context //nolint:containedctx // of its run: ends when that is to stop
	cancel    context.CancelCauseFunc
	lease     *lease
	trial     *judge.Trial

	payload   bezoar.Fingerprint
	admission judge.Admission
	record    startlog.Record
	slot      int
	written   bool // in slot
	placed    bool // it has a place to run in
	ran       bool
	settled   bool // without running
	danger    bool // it may have killed an earlier life
	later     bool // others go before it
	refusal   string
	excused   bool // it failed, and that says nothing about it
	res       result
}

func (w *Worker) newDelivery(receiving, running context.Context, m Message, began time.Time, trial *judge.Trial) *delivery {
	ctx, cancel := context.WithCancelCause(running)
	m.Queue = w.about.Queue
	d := &delivery{w: w, m: m, began: began, receiving: receiving, ctx: ctx, cancel: cancel, trial: trial}
	d.lease = w.hold(ctx, m, began, cancel)
	return d
}

// run brings a message to a result. It was admitted before.
func (d *delivery) run() {
	if d.settled {
		return
	}
	d.placed = d.w.slots.begin(d.receiving)
	defer d.company()()
	if !d.placed || d.receiving.Err() != nil || d.ctx.Err() != nil {
		d.res = result{class: bezoar.Interrupted, reason: "it had not begun"}
		return
	}
	d.ran, d.record.Running = true, true
	if d.written {
		d.behind(d.w.starts.Running(d.slot))
	}
	d.res = d.attempt(d.m)
	d.rows()
	if cause := context.Cause(d.ctx); d.res.class == bezoar.Interrupted && errors.Is(cause, errLost) {
		return
	}
	d.w.ends.add(d.m.ID, d.res.class)
	if d.excused = d.w.doubts(d.m.ID, &d.res); d.excused {
		d.w.cfg.Log.Warn("the command failed without reading its message", "message", d.m.ID, "reason", d.res.reason)
	}
	d.ended()
}

// admit decides about what was received together, and writes down what is about
// to run of it.
func (w *Worker) admit(all []*delivery) {
	var due []*delivery
	var records []startlog.Record
	for _, d := range all {
		d.payload = w.payload(&d.m)
		if d.settled = !d.admit(); d.settled || w.starts == nil {
			continue
		}
		d.record = startlog.Record{
			ID: d.m.ID, Receipt: d.m.Receipt, Queue: d.m.Queue, Group: cut(d.m.Group, 128), Payload: d.payload, At: time.Now().UTC(),
		}
		due, records = append(due, d), append(records, d.record)
	}
	if len(due) == 0 {
		return
	}
	slots, err := w.starts.Begin(records...)
	for i, d := range due {
		if err != nil {
			d.settled, d.res = true, result{class: bezoar.SpawnFailed, reason: err.Error(), spawn: err}
			continue
		}
		d.slot, d.written = slots[i], true
	}
}

// admit asks the judge whether the message may run.
func (d *delivery) admit() bool {
	j := d.w.judge
	if j == nil {
		return true
	}
	now := time.Now()
	if d.m.Receives <= 1 {
		j.First(now)
	}
	var err error
	d.admission, err = j.Admit(now, d.payload, queue.Brief(d.m.Body), d.trial)
	d.w.judged("look a payload up", err) // law 11: it runs
	switch {
	case d.admission.Refuse:
		d.refusal = "its payload is convicted"
	case d.danger && d.w.putsOff(&d.m):
		d.later, d.res = true, result{class: bezoar.Interrupted, reason: "it may have killed a worker: others go first"}
		return false
	case d.w.hopeless(&d.m):
		d.admission.Refuse = true
		d.refusal = fmt.Sprintf("received %d times and never done: it may kill its workers", d.m.Receives)
		d.res = result{class: bezoar.Crash, reason: d.refusal}
		return false
	default:
		return true
	}
	c := d.admission.Case
	d.res = result{class: c.Class, failure: c.Failure, reason: c.Reason}
	return false
}

// company waits until the message may run beside what else runs, and returns what
// to call when it has ended. One that may kill this process runs alone, so that
// nothing else is suspected then.
func (d *delivery) company() (leave func()) {
	w := d.w
	if d.danger {
		d.lonely()
		d.lease.lengthen(d.ctx, w.away(&d.m))
	} else if !w.killed(d.payload) && (!d.m.Alone && !d.admission.Alone || w.runner.isolated()) {
		w.alone.RLock()
		return w.alone.RUnlock
	}
	w.alone.Lock()
	return w.alone.Unlock
}

// behind complains of a start log that could not be written.
func (d *delivery) behind(err error) {
	if err != nil {
		d.w.cfg.Log.Warn("the start log is behind", "err", err)
	}
}

func (d *delivery) ended() {
	switch {
	case !d.written:
	case d.res.class == bezoar.Done:
		d.behind(d.w.starts.Done(d.slot))
	default:
		class := d.res.class
		if d.excused {
			class = bezoar.Interrupted
		}
		d.record.Ended = &startlog.Ended{Class: class, Failure: cut(d.res.failure, 200), Reason: cut(d.res.reason, 500)}
		d.behind(d.w.starts.Amend(d.slot, d.record))
	}
}

// noteAfter is how long a message runs before it is worth to write down in which
// process.
const noteAfter = 100 * time.Millisecond

// attempt runs a message, or what is left of it, once.
func (d *delivery) attempt(m Message) result {
	began := time.Now()
	m.Deadline = began.Add(d.w.cfg.Timeout)
	noted := make(chan struct{})
	var pid atomic.Int64
	note := time.AfterFunc(noteAfter, func() {
		defer close(noted)
		if n := int(pid.Load()); n != 0 && d.written {
			d.record.PID = n
			d.record.Since, _ = proc.Born(n)
			d.behind(d.w.starts.Amend(d.slot, d.record))
		}
	})
	r := d.w.runner.do(d.ctx, &m, func(n int) { pid.Store(int64(n)) })
	if !note.Stop() {
		<-noted
	}
	r.hide(&m)
	d.w.took.Store(d.w.took.Load()*7/8 + int64(time.Since(began))/8) // roughly: some may be lost
	if r.elapsed == 0 {
		r.elapsed = time.Since(began)
	}
	if r.class == bezoar.Throttled && r.after == 0 {
		r.after = patience
	}
	return r
}

func cut(s string, n int) string { return s[:min(len(s), n)] }
