package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// storeTimeout bounds one write: a store that hangs must not hang the fleet.
const storeTimeout = 2 * time.Second

// settle moves the book's decisions to what is to be persisted. mu is held.
func (l *Ledger) settle() {
	if !l.book.Pending() {
		return
	}
	for _, e := range l.book.Drain(nil) {
		e.Verdict.Fleet = l.cfg.Fleet
		l.todo = append(l.todo, Event{Fleet: l.cfg.Fleet, Event: e})
	}
}

// quiet reports whether there is nothing to persist. mu is held.
func (l *Ledger) quiet() bool {
	l.settle()
	return len(l.todo) == 0
}

// persist stores and tells all decisions made so far, in order. When it
// returns, those made before the call are stored, whoever stored them.
func (l *Ledger) persist(ctx context.Context) {
	l.persisting.Lock()
	defer l.persisting.Unlock()
	for {
		l.mu.Lock()
		todo := l.todo
		l.todo = nil
		l.mu.Unlock()
		if len(todo) == 0 {
			return
		}
		for i := range todo {
			l.store(ctx, &todo[i])
			l.log(&todo[i])
			if l.cfg.Observe != nil {
				l.cfg.Observe(todo[i])
			}
		}
	}
}

// store writes what an event changed. persisting is held.
func (l *Ledger) store(ctx context.Context, e *Event) {
	if l.cfg.Store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	var err error
	switch e.Kind {
	case blame.Convicted, blame.MadeConditional, blame.GroupLaned, blame.Probed, blame.Refunded:
		err = l.put(ctx, e.Verdict)
	case blame.Suspect:
		// A plain suspect is not worth a write: at the next start it runs in
		// the fleet again. What may have killed Bezoar itself is.
		if e.Evidence.Worker != blame.Self {
			return
		}
		err = l.put(ctx, e.Verdict)
	case blame.Pardoned, blame.Released, blame.Dropped:
		if !l.stored[e.Verdict.ID] {
			return
		}
		delete(l.stored, e.Verdict.ID)
		if err = l.cfg.Store.DeleteVerdict(ctx, e.Verdict.ID); errors.Is(err, ErrNotFound) {
			err = nil
		}
	default:
		return
	}
	if err != nil {
		l.dirty = true
		l.cfg.Log.Error("the verdict could not be stored; it holds in memory and will be written again", "verdict", e.Verdict.ID, "fleet", l.cfg.Fleet, "err", err)
	}
}

// put stores v. persisting is held.
func (l *Ledger) put(ctx context.Context, v bezoar.Verdict) error {
	l.stored[v.ID] = true
	return l.cfg.Store.PutVerdict(ctx, v)
}

func (l *Ledger) log(e *Event) {
	log := l.cfg.Log
	v := &e.Verdict
	switch e.Kind {
	case blame.EpochEnded:
		if e.Planned {
			log.Info("worker ended as planned", "fleet", e.Fleet, "worker", e.Evidence.Worker, "detail", e.Evidence.Detail)
			return
		}
		log.Warn("worker died", "fleet", e.Fleet, "worker", e.Evidence.Worker, "class", e.Evidence.Class.String(), "detail", e.Evidence.Detail, "in_flight", e.Evidence.InFlight, "lane", e.Evidence.Lane)
	case blame.GateClosed:
		log.Warn("the fleet gate closed: too much crashes at once to be the work; convictions are suspended", "fleet", e.Fleet)
	case blame.GateOpened:
		log.Info("the fleet gate opened: convictions count again", "fleet", e.Fleet)
	case blame.Convicted:
		log.Warn("quarantined", "fleet", e.Fleet, "verdict", v.ID, "scope", string(v.Scope), "reason", v.Reason, "until", v.Until)
	default:
		log.Info(e.Kind.String(), "fleet", e.Fleet, "verdict", v.ID, "fingerprint", v.Fingerprint.Short(), "reason", v.Reason)
	}
}

// Run lets time pass for the ledger and writes what waits, until ctx ends.
func (l *Ledger) Run(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for beat := 1; ; beat++ {
		select {
		case <-ctx.Done():
			l.flushLetters(context.WithoutCancel(ctx))
			l.rewrite(context.WithoutCancel(ctx), true)
			return nil
		case q := <-l.letters.queue:
			l.writeLetter(ctx, q)
			continue
		case <-tick.C:
		}
		l.mu.Lock()
		l.book.Tick(time.Now())
		l.settle()
		l.mu.Unlock()
		l.persist(ctx)
		l.flushLetters(ctx)
		l.rewrite(ctx, beat%30 == 0)
	}
}

// rewrite stores all verdicts again: after a failed write, and now and then
// because the counts of refused copies have grown.
func (l *Ledger) rewrite(ctx context.Context, due bool) {
	if l.cfg.Store == nil {
		return
	}
	l.persisting.Lock()
	defer l.persisting.Unlock()
	if !l.dirty && !due {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 4*storeTimeout)
	defer cancel()
	for _, v := range l.Verdicts() {
		if v.State == bezoar.Suspected || !l.dirty && v.Refused == 0 {
			continue
		}
		if err := l.put(ctx, v); err != nil {
			l.dirty = true
			l.cfg.Log.Error("the verdicts could not be stored", "fleet", l.cfg.Fleet, "err", err)
			return
		}
	}
	l.dirty = false
}
