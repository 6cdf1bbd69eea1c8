package ledger

import (
	"context"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// followAll adopts what other processes decide about the fleet's work, until ctx ends. If the store cannot be read, it logs
// that once, and later catches up.
func (l *Ledger) followAll(ctx context.Context) {
	tick := time.NewTicker(l.cfg.Follow)
	defer tick.Stop()
	lost := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := l.follow(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !lost:
			l.cfg.Log.Warn("cannot read the verdicts of other nodes; the known verdicts stay in force", "fleet", l.cfg.Fleet, "err", err)
		case err == nil && lost:
			l.cfg.Log.Info("the verdicts of other nodes can be read again", "fleet", l.cfg.Fleet)
		}
		lost = err != nil
	}
}

// follow reads once.
func (l *Ledger) follow(ctx context.Context) error {
	l.persisting.Lock()
	since := l.revision
	l.persisting.Unlock()
	read, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	c, err := l.cfg.Store.Changes(read, l.cfg.Fleet, since)
	if err != nil || c.Revision == since {
		return err
	}
	l.persisting.Lock()
	defer l.persisting.Unlock()
	for i := range c.Put {
		l.adopt(ctx, c.Put[i])
	}
	if c.All && !l.behind {
		c.Deleted = l.vanished(c.Put)
	}
	for _, id := range c.Deleted {
		l.withdraw(id)
	}
	l.revision = c.Revision
	return nil
}

// adopt adopts a verdict of another node. The caller holds persisting.
func (l *Ledger) adopt(ctx context.Context, v bezoar.Verdict) {
	if v.Node == l.cfg.Node {
		return
	}
	var superseded string
	var ok bool
	l.locked(func(now time.Time) { superseded, ok = l.state.Adopt(now, v, l.rule(v.Route)) })
	if !ok {
		return
	}
	if superseded != "" {
		l.delete(ctx, superseded)
	}
	if _, known := l.stored[v.ID]; !known {
		l.cfg.Log.Info("a verdict of another node applies here too", "fleet", l.cfg.Fleet, "node", v.Node, "verdict", v.ID,
			"state", string(v.State), "reason", v.Reason, "until", v.Until)
	}
	l.stored[v.ID], l.foreign[v.ID] = writtenOf(&v), true
}

// withdraw drops a verdict that another node has dropped. The caller holds persisting.
func (l *Ledger) withdraw(id string) {
	if _, ok := l.stored[id]; !ok {
		return
	}
	var v bezoar.Verdict
	var ok bool
	l.locked(func(time.Time) { v, ok = l.state.Withdraw(id) })
	delete(l.stored, id)
	delete(l.foreign, id)
	if ok {
		l.cfg.Log.Info("another node has lifted a verdict", "fleet", l.cfg.Fleet, "verdict", v.ID, "fingerprint", v.Fingerprint.Short())
	}
}

// vanished lists the ids that the store had and no longer has. The caller holds persisting.
func (l *Ledger) vanished(there []bezoar.Verdict) []string {
	var gone []string
	for id := range l.stored {
		if !slices.ContainsFunc(there, func(v bezoar.Verdict) bool { return v.ID == id }) {
			gone = append(gone, id)
		}
	}
	return gone
}
