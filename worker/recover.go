package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/judge"
	"github.com/bezoar-dev/bezoar/internal/state/facts"
	"github.com/bezoar-dev/bezoar/internal/state/startlog"
	"github.com/bezoar-dev/bezoar/queue"
)

// recoverFor is how long one message of a dead predecessor may take to be told.
const recoverFor = 10 * time.Second

// recover deals with what a predecessor has left: processes, and messages that
// it was running when it died.
func (w *Worker) recover(ctx context.Context, left []startlog.Left) error {
	if w.cfg.State != "" {
		n, err := w.runner.sweep(ctx)
		switch {
		case err != nil:
			w.cfg.Log.Error("cannot sweep what a predecessor left", "err", err)
		case n > 0:
			w.cfg.Log.Warn("processes of a dead predecessor were killed", "processes", n)
		}
	}
	holding := 0
	for _, l := range left {
		if l.Ended == nil {
			holding++
		}
	}
	for _, l := range left {
		if err := w.tell(ctx, l, holding); err != nil {
			if ctx.Err() != nil {
				return nil // the record stays for the next one
			}
			w.cfg.Log.Error("cannot report a message of a dead predecessor: it comes back when its lease is over", "message", l.ID, "err", err)
		}
		if err := w.starts.Clear(l.Slot); err != nil {
			return err
		}
	}
	return nil
}

// tell reports one message of a dead predecessor.
func (w *Worker) tell(ctx context.Context, l startlog.Left, holding int) error {
	ctx, cancel := context.WithTimeout(ctx, recoverFor)
	defer cancel()
	m := Message{ID: l.ID, Receipt: l.Receipt, Queue: l.Queue, Group: l.Group, Payload: l.Payload}
	if l.Queue != w.about.Queue {
		return fmt.Errorf("it is of queue %.100q", l.Queue)
	}
	e := Event{Queue: l.Queue, ID: l.ID, Outcome: OutcomeReturned}
	var err error
	switch end := l.Ended; {
	case end == nil:
		err = w.died(ctx, &e, m, l, holding)
	case end.Class == bezoar.Done:
		e.Outcome = OutcomeDone
		err = w.cfg.Source.Done(ctx, m)
	case end.Class == bezoar.Interrupted || end.Class == bezoar.SpawnFailed || !w.about.Judges:
		// Where internal/judge decides, it comes again at once: what it did is not worth
		// a verdict that nobody heard.
		e.Class, e.Reason = end.Class, end.Reason
		err = w.cfg.Source.Release(ctx, m, Release{Refund: true, Outcome: &queue.Outcome{Class: bezoar.Interrupted, Reason: end.Reason}})
	default:
		e.Class, e.Reason, e.Outcome = end.Class, end.Reason, OutcomeReported
		err = w.cfg.Source.Release(ctx, m, Release{
			Outcome: &queue.Outcome{Class: end.Class, Failure: end.Failure, Reason: end.Reason}, Reject: end.Class == bezoar.Invalid,
		})
	}
	if errors.Is(err, ErrLost) {
		w.cfg.Log.Info("the lease of a dead predecessor's message is over", "message", l.ID)
		e.Outcome, err = OutcomeLost, nil
	}
	w.observe(e)
	return err
}

// died blames a message that was running when the worker died: alone it is a
// strike, in company a suspicion. Here it runs alone from now on.
func (w *Worker) died(ctx context.Context, e *Event, m Message, l startlog.Left, holding int) error {
	reason := "the worker died while it ran this message alone"
	if holding > 1 {
		reason = fmt.Sprintf("the worker died while it ran this message and %d others", holding-1)
	}
	w.cfg.Log.Warn(reason, "queue", l.Queue, "message", l.ID, "started", l.At, "pid", l.PID)
	o := queue.Outcome{Class: bezoar.Crash, Failure: failureDied, Reason: reason}
	weak := w.runner.isolated() // somebody else may have killed the worker as well
	if weak {
		o.Failure = "" // and twice that is not the same failure twice
	}
	e.Class, e.Reason, e.Failure, e.Outcome = o.Class, reason, o.Failure, OutcomeReported
	w.suspect(m.Payload, l.At)
	if w.about.Judges {
		return w.cfg.Source.Release(ctx, m, Release{Outcome: &o, Holding: holding, Weak: weak})
	}
	ruling, err := w.judge.Failed(time.Now(), judge.Ending{
		ID: m.ID, Payload: m.Payload, Class: o.Class, Failure: o.Failure, Reason: reason, Weak: weak, Holding: holding, Receives: 1, Received: l.At,
	})
	w.judged("judge a message of a dead predecessor", err)
	e.Outcome, e.Why, e.Delay = OutcomeRetry, ruling.Why, ruling.Delay
	if ruling.Dead {
		e.Delay = 0 // its body is needed: it is refused when it comes again
	}
	return w.cfg.Source.Release(ctx, m, Release{Delay: e.Delay})
}

// failureDied is the failure of a message that took its worker with it.
const failureDied = "worker-died"

// deathFor is how long it is remembered that a worker died with a payload, and
// maxDeaths how many of those are.
const (
	deathFor  = 7 * 24 * time.Hour
	maxDeaths = 1000
)

func (w *Worker) deathKey(p bezoar.Fingerprint) string {
	return "died/" + w.about.Queue + "/" + p.String()
}

// suspect remembers that a worker died while it ran a payload.
func (w *Worker) suspect(p bezoar.Fingerprint, at time.Time) {
	if p.IsZero() {
		return
	}
	err := w.facts.Update(func(tx *facts.Tx) error {
		n, oldest, when := 0, "", time.Time{}
		for key := range tx.All("died/") {
			var t time.Time
			if _, err := tx.Get(key, &t); err != nil || time.Since(t) > deathFor {
				tx.Drop(key)
				continue
			}
			if n++; oldest == "" || t.Before(when) {
				oldest, when = key, t
			}
		}
		if n >= maxDeaths {
			tx.Drop(oldest)
		}
		return tx.Put(w.deathKey(p), at)
	})
	w.judged("note a suspect", err)
}

// killed reports whether a worker died while it ran a payload, which is to run
// alone until it has ended otherwise.
func (w *Worker) killed(p bezoar.Fingerprint) (known bool) {
	if p.IsZero() {
		return false
	}
	err := w.facts.View(func(tx *facts.Tx) (err error) {
		known = tx.Has(w.deathKey(p))
		return nil
	})
	w.judged("look a suspect up", err)
	return known
}

// learn notes that a payload did not kill its worker this time.
func (w *Worker) learn(d *delivery) {
	if d.res.class == bezoar.Interrupted || d.res.class == bezoar.SpawnFailed || d.admission.Refuse || !w.killed(d.payload) {
		return
	}
	w.judged("clear a suspect", w.facts.Update(func(tx *facts.Tx) error {
		tx.Drop(w.deathKey(d.payload))
		return nil
	}))
}

func randomKey() (key [32]byte) {
	_, _ = rand.Read(key[:]) // never fails since Go 1.24
	return key
}
