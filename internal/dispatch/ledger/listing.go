package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// Verdicts returns all verdicts, oldest first.
func (l *Ledger) Verdicts() (vs []bezoar.Verdict) {
	l.locked(func(now time.Time) { vs = l.state.Verdicts(now) })
	for i := range vs {
		vs[i].Fleet = l.cfg.Fleet
	}
	slices.SortFunc(vs, func(a, b bezoar.Verdict) int { return a.Since.Compare(b.Since) })
	return vs
}

// Verdict returns one verdict, or ErrNotFound.
func (l *Ledger) Verdict(id string) (bezoar.Verdict, error) {
	for _, v := range l.Verdicts() {
		if v.ID == id {
			return v, nil
		}
	}
	return bezoar.Verdict{}, fmt.Errorf("verdict %.40q in fleet %s: %w", id, l.cfg.Fleet, ErrNotFound)
}

// Order is an operator's quarantine.
type Order struct {
	Work   blame.Work // its fingerprint, or only its shape
	For    time.Duration
	Reason string
	Sample string
}

// Quarantine holds work by an operator's order.
func (l *Ledger) Quarantine(ctx context.Context, o Order) (v bezoar.Verdict, err error) {
	if o.Work.Fingerprint.IsZero() && o.Work.Shape.IsZero() {
		return bezoar.Verdict{}, fmt.Errorf("quarantine in fleet %s: neither a fingerprint nor a shape is given", l.cfg.Fleet)
	}
	if o.For <= 0 {
		return bezoar.Verdict{}, fmt.Errorf("quarantine in fleet %s: for is %v, want more than 0", l.cfg.Fleet, o.For)
	}
	l.locked(func(now time.Time) {
		v, err = l.state.Quarantine(now, now.Add(o.For), o.Work, o.Reason, o.Sample)
	})
	l.persist(ctx)
	v.Fleet = l.cfg.Fleet
	return v, err
}

// Release lifts the verdict with this id, or returns ErrNotFound.
func (l *Ledger) Release(ctx context.Context, id string) (bezoar.Verdict, error) {
	var v bezoar.Verdict
	var ok bool
	l.locked(func(now time.Time) { v, ok = l.state.Release(now, id) })
	l.persist(ctx)
	if !ok {
		return v, fmt.Errorf("verdict %.40q in fleet %s: %w", id, l.cfg.Fleet, ErrNotFound)
	}
	v.Fleet = l.cfg.Fleet
	return v, nil
}

// Convicted reports whether w is quarantined: its variant, its complete fingerprint, or its common features with killers.
func (l *Ledger) Convicted(w blame.Work) bool {
	v, ok := l.lookup(&w)
	return ok && (v.State == bezoar.Quarantined || v.State == bezoar.Probing)
}

// lookup returns the verdict on w, and records in w what it had to ask its traits.
func (l *Ledger) lookup(w *blame.Work) (bezoar.Verdict, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, ok := l.state.Lookup(w)
	v.Fleet = l.cfg.Fleet
	return v, ok
}
