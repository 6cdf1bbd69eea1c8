package flow

import (
	"context"
	"slices"
)

// without removes from a batch the runs that this node no longer holds although its lease is valid: an order has reopened
// them. It reports whether there were any.
func (l *loop) without(ctx context.Context, b *Batch) bool {
	n, err := l.store.Renew(ctx, l.node, l.cfg.Lease)
	if err != nil || n.Epoch != l.node.Epoch {
		return false
	}
	gone := map[string]bool{}
	for _, id := range b.Touches() {
		r, err := l.store.Run(ctx, id)
		if err != nil {
			return false
		}
		if r.Owner != l.node.Name || r.Epoch != l.hold.Runs[id] {
			gone[id] = true
			l.log.WarnContext(ctx, "another node has taken a run from this one", "run", id)
			l.drop(ctx, id)
		}
	}
	b.Runs = slices.DeleteFunc(b.Runs, func(r Run) bool { return gone[r.ID] })
	b.Instances = slices.DeleteFunc(b.Instances, func(i Instance) bool { return gone[i.Run] })
	b.Begin = slices.DeleteFunc(b.Begin, func(a Attempt) bool { return gone[a.Run] })
	for _, a := range b.End {
		if gone[a.Run] { // the new holder treats it as another node's attempt
			l.reports = append(l.reports, a)
		}
	}
	b.End = slices.DeleteFunc(b.End, func(a Attempt) bool { return gone[a.Run] })
	return len(gone) > 0
}

// drop forgets a run. Its attempts here belong to the run's next planner.
func (l *loop) drop(ctx context.Context, id string) {
	p := l.plans[id]
	if p == nil {
		return
	}
	delete(l.plans, id)
	delete(l.hold.Runs, id)
	l.round = slices.DeleteFunc(l.round, func(is *plan) bool { return is == p })
	for _, j := range l.local {
		if j.plan == p {
			l.giveBack(ctx, j)
			j.plan, j.inst = nil, nil
		}
	}
	for token, j := range l.away {
		if j.plan == p {
			l.giveBack(ctx, j)
			delete(l.away, token)
		}
	}
	for key, all := range l.keyed {
		l.keyed[key] = slices.DeleteFunc(all, func(j *job) bool { return j.plan == p })
	}
	l.later = slices.DeleteFunc(l.later, func(j *job) bool { return j.plan == p })
}
