package ledger

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// storeTimeout bounds one write: a store that hangs must not block the fleet.
const storeTimeout = 2 * time.Second

// refreshBeats is how many seconds pass between two writes of gradual changes.
const refreshBeats = 30

// written holds the last stored values of a verdict that change without an event.
type written struct {
	refused int64
	pace    float64
	side    float64
	late    bool
}

func writtenOf(v *bezoar.Verdict) written { return written{v.Refused, v.Pace, v.SidePace, v.Late} }

// changed reports whether v must be written again.
func (old written) changed(v *bezoar.Verdict) bool {
	now := writtenOf(v)
	now.refused = max(old.refused, now.refused) // it never falls
	return now != old
}

// settle moves the state's decisions to the list of events to persist. The caller holds mu.
func (l *Ledger) settle() {
	if !l.state.Pending() {
		return
	}
	for _, e := range l.state.Drain(nil) {
		e.Verdict.Fleet = l.cfg.Fleet
		l.todo = append(l.todo, Event{Fleet: l.cfg.Fleet, Event: e})
	}
}

// persist stores and reports all decisions made so far, in order. When it returns, decisions made before the call are
// stored, by any goroutine, unless the store is behind.
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

// store writes the change of an event. The caller holds persisting.
func (l *Ledger) store(ctx context.Context, e *Event) {
	if l.cfg.Store == nil {
		return
	}
	switch e.Kind {
	case blame.Convicted, blame.MadeConditional, blame.GroupLaned, blame.Probed, blame.Refunded:
		l.put(ctx, e.Verdict)
	case blame.Suspect:
		// A plain suspect is not worth a write: after a restart it runs in the fleet again. Work that may have killed
		// Bezoar itself is.
		if e.Evidence.Worker == blame.Self {
			l.put(ctx, e.Verdict)
		}
	case blame.Pardoned, blame.Released, blame.Dropped:
		l.delete(ctx, e.Verdict.ID)
	}
}

// put stores v, or leaves it to catchUp. The caller holds persisting.
func (l *Ledger) put(ctx context.Context, v bezoar.Verdict) {
	if l.behind {
		l.missed = true
		return
	}
	l.stored[v.ID] = writtenOf(&v)
	delete(l.foreign, v.ID)
	if err := l.putVerdict(ctx, v); err != nil {
		l.fallBehind(err, "verdict", v.ID)
	}
}

// delete removes a verdict, or leaves it to catchUp. The caller holds persisting.
func (l *Ledger) delete(ctx context.Context, id string) {
	if l.behind {
		l.missed = true
		return
	}
	if _, ok := l.stored[id]; !ok {
		return
	}
	if err := l.deleteVerdict(ctx, id); err != nil {
		l.fallBehind(err, "verdict", id)
		return
	}
	delete(l.stored, id)
	delete(l.foreign, id)
}

// fallBehind stops writing synchronously: a store that hangs would delay every decision. The caller holds persisting.
func (l *Ledger) fallBehind(err error, args ...any) {
	l.behind, l.missed = true, true
	args = append(args, "fleet", l.cfg.Fleet, "err", err)
	l.cfg.Log.Error("the verdict could not be stored; verdicts stay in force in memory, and will be written when the store answers again", args...)
}

func (l *Ledger) putVerdict(ctx context.Context, v bezoar.Verdict) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	v.Node = l.cfg.Node
	return l.cfg.Store.PutVerdict(ctx, v)
}

func (l *Ledger) deleteVerdict(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	err := l.cfg.Store.DeleteVerdict(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

func (l *Ledger) log(e *Event) {
	log := l.cfg.Log
	v := &e.Verdict
	switch e.Kind {
	case blame.EpochEnded:
		// The keeper of the workers reports deaths; this adds what was in flight.
		log.Debug("epoch ended", "fleet", e.Fleet, "worker", e.Evidence.Worker, "planned", e.Planned, "in_flight", e.Evidence.InFlight, "lane", e.Evidence.Lane)
	case blame.GateClosed:
		if e.Planned {
			log.Info("convictions are suspended for a rollout", "fleet", e.Fleet)
			return
		}
		what := "too many workers crash at once for the work to be the cause"
		if e.Strikes {
			what = "too much different work fails at once on live workers for the work to be the cause"
		}
		log.Warn("the fleet gate closed: "+what+"; convictions are suspended", "fleet", e.Fleet)
	case blame.GateOpened:
		log.Info("the fleet gate opened: convictions count again", "fleet", e.Fleet)
	case blame.RecoveryBegan:
		log.Warn("half of the workers have died: only a few unproven requests run in the fleet at a time", "fleet", e.Fleet)
	case blame.RecoveryEnded:
		log.Info("the fleet has recovered: it takes all work again", "fleet", e.Fleet)
	case blame.Convicted:
		what := "quarantined"
		if v.ReportOnly {
			what = "would be quarantined: its route only reports"
		}
		log.Warn(what, "fleet", e.Fleet, "verdict", v.ID, "scope", string(v.Scope), "reason", v.Reason, "until", v.Until)
	default:
		log.Info(e.Kind.String(), "fleet", e.Fleet, "verdict", v.ID, "fingerprint", v.Fingerprint.Short(), "reason", v.Reason)
	}
}

// Run advances the ledger's clock and writes what waits, until ctx ends.
func (l *Ledger) Run(ctx context.Context) error {
	if l.cfg.Follow > 0 {
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() { l.followAll(ctx) })
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for beat := 1; ; beat++ {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*storeTimeout)
			defer cancel()
			l.write(last, true)
			return nil
		case <-tick.C:
		}
		l.locked(func(now time.Time) { l.state.Tick(now) })
		l.persist(ctx)
		l.write(ctx, beat%refreshBeats == 0)
	}
}

// write writes what need not be written at once. due says that gradual changes must be written as well.
func (l *Ledger) write(ctx context.Context, due bool) {
	if l.cfg.Store == nil || !l.catchUp(ctx) || !l.flushLetters(ctx) {
		return
	}
	l.storing.Passed()
	if due {
		l.refresh(ctx)
	}
}

// catchUp writes to a store that missed something, and reports whether the store is complete now. Its writes block nobody:
// new decisions wait for the next round.
func (l *Ledger) catchUp(ctx context.Context) bool {
	l.persisting.Lock()
	if !l.behind {
		l.persisting.Unlock()
		return true
	}
	l.missed = false
	vs := slices.DeleteFunc(l.Verdicts(), func(v bezoar.Verdict) bool { return !l.worthStoring(v) })
	gone := make(map[string]bool, len(l.stored))
	for id := range l.stored {
		gone[id] = true
	}
	for _, v := range vs {
		delete(gone, v.ID)
		l.stored[v.ID] = writtenOf(&v)
	}
	l.persisting.Unlock()

	err := l.replace(ctx, vs, gone)

	l.persisting.Lock()
	defer l.persisting.Unlock()
	if err != nil {
		l.storing.Failed("store the verdicts", err)
		return false
	}
	for id := range gone {
		delete(l.stored, id)
		delete(l.foreign, id)
	}
	l.behind = l.missed
	return !l.behind
}

func (l *Ledger) replace(ctx context.Context, vs []bezoar.Verdict, gone map[string]bool) error {
	for _, v := range vs {
		if err := l.putVerdict(ctx, v); err != nil {
			return err
		}
	}
	for id := range gone {
		if err := l.deleteVerdict(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// worthStoring decides for verdicts what store decides for events. The caller holds persisting.
func (l *Ledger) worthStoring(v bezoar.Verdict) bool {
	_, stored := l.stored[v.ID]
	return stored || v.State != bezoar.Suspected ||
		slices.ContainsFunc(v.Evidence, func(e bezoar.Evidence) bool { return e.Worker == blame.Self })
}

// refresh writes verdicts again whose counts of refused copies have grown, or whose pace has changed.
func (l *Ledger) refresh(ctx context.Context) {
	for _, v := range l.Verdicts() {
		if !l.refreshOne(ctx, v) {
			return
		}
	}
}

func (l *Ledger) refreshOne(ctx context.Context, v bezoar.Verdict) bool {
	l.persisting.Lock()
	defer l.persisting.Unlock()
	old, ok := l.stored[v.ID]
	if !ok || !old.changed(&v) || l.foreign[v.ID] {
		return true // its own node counts for a foreign one; otherwise a released one would come back
	}
	var now bezoar.Verdict
	var held bool
	l.locked(func(time.Time) { now, held = l.state.Present(&v) })
	// Evidence in memory is bounded: do not overwrite the store's evidence with less.
	if held && (now.Reason != "" || v.Scope != bezoar.ScopeWork && v.Scope != bezoar.ScopeVariant) {
		now.Fleet = l.cfg.Fleet
		l.put(ctx, now)
	}
	return !l.behind
}
