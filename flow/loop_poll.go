package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// maxTake is the most runs taken at once.
const maxTake = 100

// poll reads all changes that other nodes made.
func (l *loop) poll(ctx context.Context) error {
	for key := range l.keyed {
		l.unkey(key, len(l.keyed[key]))
	}
	for _, j := range l.later {
		j.plan.back(j.inst)
	}
	l.later = nil
	l.regate()
	if err := l.look(ctx); err != nil {
		return err
	}
	for _, part := range []func(context.Context) error{l.others, l.wishes, l.admitAll, l.forgetOld} {
		if err := l.tolerate(ctx, part(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// How often old runs are deleted, and how many at once.
const (
	forgetEvery = time.Minute
	forgetMost  = 100
)

// forgetOld deletes runs that ended long ago, and side effects that are even older.
func (l *loop) forgetOld(ctx context.Context) error {
	if l.cfg.Works || l.stopping || time.Since(l.forgot) < forgetEvery {
		return nil
	}
	l.forgot = time.Now()
	n, err := l.store.Forget(ctx, l.cfg.Keep, forgetMost)
	if err != nil {
		return err
	}
	effects, err := l.store.ForgetEffects(ctx, l.cfg.KeepKeys, forgetMost)
	if n == forgetMost || effects == forgetMost {
		l.forgot = time.Time{} // there are more
	}
	return err
}

// tolerate ignores errors of the store: only the loss of the lease ends a life.
func (l *loop) tolerate(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, ErrFenced) || ctx.Err() != nil {
		return err
	}
	l.log.WarnContext(ctx, "the store of flows does not answer", "err", err)
	return nil
}

// look takes runs, orders and offered attempts.
func (l *loop) look(ctx context.Context) error {
	l.polled = time.Now()
	if l.stopping {
		return nil
	}
	for _, part := range []func(context.Context) error{l.take, l.orders, l.offers, l.schedules} {
		if err := l.tolerate(ctx, part(ctx)); err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) take(ctx context.Context) error {
	if l.cfg.Works {
		return nil
	}
	for {
		runs, err := l.store.Take(ctx, l.node, maxTake)
		if err != nil {
			return fmt.Errorf("take runs: %w", err)
		}
		flows := map[string]bool{}
		for _, run := range runs {
			if err := l.adopt(ctx, run); err != nil {
				return fmt.Errorf("take run %s: %w", run.ID, err)
			}
			flows[run.Flow] = true
		}
		for name := range flows {
			if err := l.admit(ctx, name); err != nil {
				return err
			}
		}
		if len(runs) < maxTake {
			return nil
		}
	}
}

// adopt creates the plan of a run that this node has taken. Before the run continues, it makes sure that attempts of the
// previous holder are gone.
func (l *loop) adopt(ctx context.Context, run Run) error {
	l.drop(ctx, run.ID) // it was over, and an order has reopened it
	l.hold.Runs[run.ID] = run.Epoch
	all, err := l.store.Instances(ctx, run.ID)
	if err != nil {
		return err
	}
	if err := l.learn(ctx, run.Definition); err != nil {
		return err
	}
	p, err := newPlan(run, all, l.stats, randomFloat, files)
	if err != nil {
		l.log.ErrorContext(ctx, "a run cannot be planned, and is left alone", "run", run.ID, "err", err)
		return nil
	}
	open, err := l.store.ListAttempts(ctx, AttemptQuery{Run: run.ID, Open: true, Index: -1})
	if err != nil {
		return err
	}
	byInst := make(map[attemptID]Attempt, len(open))
	for _, a := range open {
		byInst[idOf(&a)] = a
	}
	now := time.Now()
	for _, n := range p.nodes {
		for _, i := range n.insts {
			if i.State != task.Running {
				continue
			}
			a, is := byInst[attemptID{i.Run, i.Task, i.Index, i.History.Attempts}]
			if !is {
				if a, err = l.lastAttempt(ctx, i); err != nil {
					return err
				}
			}
			l.resume(ctx, p, i, a, now)
		}
	}
	p.repage()
	// Runs of a backfill are limited by the backfill. A run that was held follows an operator's order without waiting for
	// other runs.
	p.open = run.Backfill != "" || run.Definition.MaxRuns <= 0 || run.State == RunHeld
	l.plans[run.ID] = p
	l.round = append(l.round, p)
	return nil
}

// lastAttempt returns the attempt of an instance that was running and whose end was not handled.
func (l *loop) lastAttempt(ctx context.Context, i *inst) (Attempt, error) {
	all, err := l.store.ListAttempts(ctx, AttemptQuery{Run: i.Run, Task: i.Task, Index: i.Index})
	if err != nil {
		return Attempt{}, err
	}
	for _, a := range slices.Backward(all) {
		if a.N == i.History.Attempts {
			return a, nil
		}
	}
	return Attempt{
		Run: i.Run, Task: i.Task, Index: i.Index, N: i.History.Attempts, State: AttemptEnded,
		Ending: Ending{Class: bezoar.Interrupted, Free: true, Reason: "the attempt is not in the store"},
	}, nil
}

// resume continues with an attempt of an earlier life.
func (l *loop) resume(ctx context.Context, p *plan, i *inst, a Attempt, now time.Time) {
	i.attempt = &a
	j := &job{attempt: a, plan: p, inst: i}
	switch is := l.local[a.Token]; {
	case a.State == AttemptEnded:
		l.local[a.Token] = j
		l.end(ctx, ending{token: a.Token, started: a.Started, Ending: a.Ending})
	case is != nil: // it runs here, for a planner that is gone
		is.plan, is.inst, is.attempt = p, i, a
	case a.Node == l.node.Name:
		l.exhume(ctx, j)
	default:
		l.away[a.Token] = j
	}
}

// orphans ends attempts of an earlier life of this node that other nodes plan.
func (l *loop) orphans(ctx context.Context) error {
	all, err := l.store.ListAttempts(ctx, AttemptQuery{Node: l.node.Name, Index: -1})
	if err != nil {
		return l.tolerate(ctx, err)
	}
	for _, a := range all {
		if l.local[a.Token] == nil && a.State != AttemptLost {
			l.exhume(ctx, &job{attempt: a})
		}
	}
	return nil
}

func (l *loop) orders(ctx context.Context) error {
	if len(l.plans) == 0 {
		return nil
	}
	all, err := l.store.Orders(ctx, l.node.Name)
	if err != nil {
		return fmt.Errorf("read orders: %w", err)
	}
	now := time.Now()
	for _, o := range all {
		if p := l.plans[o.Run]; p != nil {
			p.obey(o, now)
		}
	}
	return nil
}

// admitAll checks again the runs that wait for other runs: one of those may have ended on another node, or become HELD.
func (l *loop) admitAll(ctx context.Context) error {
	asked := map[string]bool{}
	for _, p := range l.round {
		if p.open || p.run.State != RunRunning || asked[p.run.Flow] {
			continue
		}
		asked[p.run.Flow] = true
		if err := l.admit(ctx, p.run.Flow); err != nil {
			return err
		}
	}
	return nil
}

// admit decides which runs of a flow may begin attempts: the oldest ones.
func (l *loop) admit(ctx context.Context, name string) error {
	waiting, most := false, 0
	for _, p := range l.round {
		if p.run.Flow == name && !p.open {
			waiting, most = true, p.run.Definition.MaxRuns
		}
	}
	if !waiting {
		return nil
	}
	var ids []string
	for before := ""; ; {
		page, err := l.store.ListRuns(ctx, RunQuery{Flow: name, State: RunRunning, Before: before, Limit: 1000})
		if err != nil {
			return l.tolerate(ctx, fmt.Errorf("list runs of %s: %w", name, err))
		}
		for _, r := range page {
			if r.Backfill == "" {
				ids = append(ids, r.ID)
			}
		}
		if len(page) < 1000 {
			break
		}
		before = page[len(page)-1].ID
	}
	slices.Sort(ids)
	open := 0
	for _, p := range l.round {
		if p.run.Flow == name && p.open && p.run.Backfill == "" && p.run.State == RunRunning {
			open++
		}
	}
	for _, p := range l.round {
		if p.run.Flow == name && !p.open && open < most {
			k, is := slices.BinarySearch(ids, p.run.ID)
			if p.open = is && k < most; p.open {
				open++
			}
		}
	}
	return nil
}

// learn reads how long the tasks of a flow took in its latest runs, if a decision depends on it.
func (l *loop) learn(ctx context.Context, d Definition) error {
	timed := d.Deadline > 0 || slices.ContainsFunc(d.Tasks, func(t Task) bool { return t.Timeout > 0 })
	if !timed || l.stats.knows(d.Name) {
		return nil
	}
	return learn(ctx, l.store, l.stats, d.Name)
}

// learnRuns is how many runs learn reads.
const learnRuns = 5

func learn(ctx context.Context, s Store, known *stats, name string) error {
	runs, err := s.ListRuns(ctx, RunQuery{Flow: name, State: RunSuccess, Limit: learnRuns})
	if err != nil {
		return err
	}
	for _, r := range runs {
		all, err := s.ListAttempts(ctx, AttemptQuery{Run: r.ID, Index: -1})
		if err != nil {
			return err
		}
		for _, a := range all {
			if a.State == AttemptEnded && a.Ending.Class == bezoar.Done && !a.Ending.NotYet {
				known.add(name, a.Task, a.Ending.Elapsed)
			}
		}
	}
	return nil
}
