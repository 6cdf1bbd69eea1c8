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

// maxTake is how many runs are taken at once.
const maxTake = 100

// poll looks for all that others did.
func (l *loop) poll(ctx context.Context) error {
	for key := range l.keyed {
		l.unkey(key, len(l.keyed[key]))
	}
	for _, j := range l.later {
		j.plan.back(j.inst)
	}
	l.later = nil
	if err := l.look(ctx); err != nil {
		return err
	}
	for _, part := range []func(context.Context) error{l.others, l.wishes, l.schedules, l.admitAll} {
		if err := l.tolerate(ctx, part(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// tolerate keeps going when the store does not answer: only the loss of the
// lease ends a life.
func (l *loop) tolerate(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, ErrFenced) || ctx.Err() != nil {
		return err
	}
	l.log.WarnContext(ctx, "the store of flows does not answer", "err", err)
	return nil
}

// look takes runs, orders and attempts that are offered.
func (l *loop) look(ctx context.Context) error {
	l.polled = time.Now()
	if l.stopping {
		return nil
	}
	for _, part := range []func(context.Context) error{l.take, l.orders, l.offers} {
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

// adopt makes the plan of a run that this node has taken. What ran in the life
// of whoever held it before is proven to be gone before it goes on.
func (l *loop) adopt(ctx context.Context, run Run) error {
	l.drop(run.ID) // it was over, and a person had it opened again
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
	// A backfill starts no more than may run, and what a person has a run do that
	// was held does not wait for other runs.
	p.open = run.Backfill != "" || run.Definition.MaxRuns <= 0 || run.State == RunHeld
	l.plans[run.ID] = p
	l.round = append(l.round, p)
	return nil
}

// lastAttempt finds the attempt of an instance that was running, and whose end
// nobody has taken.
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

// resume goes on with an attempt of an earlier life.
func (l *loop) resume(ctx context.Context, p *plan, i *inst, a Attempt, now time.Time) {
	i.attempt = &a
	j := &job{attempt: a, plan: p, inst: i}
	switch is := l.local[a.Token]; {
	case a.State == AttemptEnded:
		l.local[a.Token] = j
		l.end(ending{token: a.Token, started: a.Started, Ending: a.Ending})
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

// offers takes attempts that name no node.
func (l *loop) offers(ctx context.Context) error {
	free := l.cfg.Slots - len(l.local)
	if free <= 0 || len(l.cfg.Labels) == 0 {
		return nil
	}
	all, err := l.store.Offers(ctx, l.node, free)
	if err != nil {
		return fmt.Errorf("claim attempts: %w", err)
	}
	for _, a := range all {
		j := l.away[a.Token]
		switch {
		case j != nil: // this node plans it, and has the labels
			j.attempt = a
			delete(l.away, a.Token)
		case a.Spec == nil:
			l.reports = append(l.reports, over(a, ending{Ending: Ending{Class: bezoar.SpawnFailed, Reason: "the attempt does not say what to run"}}, time.Now()))
			continue
		default:
			j = &job{attempt: a}
		}
		j.spec = *a.Spec
		l.start(ctx, j)
	}
	return nil
}

// report tells the planners of other nodes how their attempts ended.
func (l *loop) report(ctx context.Context) error {
	if len(l.reports) == 0 {
		return nil
	}
	err := l.store.Report(ctx, l.node, l.reports)
	if err == nil {
		l.reports = nil
	}
	return l.tolerate(ctx, err)
}

// wishes carries out the stops of attempts that other nodes planned.
func (l *loop) wishes(ctx context.Context) error {
	foreign := false
	for _, j := range l.local {
		foreign = foreign || j.plan == nil
	}
	if !foreign {
		return nil
	}
	all, err := l.store.ListAttempts(ctx, AttemptQuery{Node: l.node.Name, Index: -1})
	if err != nil {
		return fmt.Errorf("read the attempts of this node: %w", err)
	}
	for _, a := range all {
		if j := l.local[a.Token]; a.Stop != nil && j != nil && !l.seen[a.Token] {
			l.seen[a.Token] = true
			l.stopJob(ctx, *a.Stop)
		}
	}
	return nil
}

// others takes the ends of attempts on other nodes. One whose node is lost ends
// when that node's guardian has had the time to end it.
func (l *loop) others(ctx context.Context) error {
	first := map[string]int64{}
	for token, j := range l.away {
		if j.ended {
			continue
		}
		if was, ok := first[j.attempt.Run]; !ok || token < was {
			first[j.attempt.Run] = token
		}
	}
	now := time.Now()
	for run, token := range first {
		all, err := l.store.ListAttempts(ctx, AttemptQuery{Run: run, After: token - 1, Index: -1})
		if err != nil {
			return fmt.Errorf("read the attempts of run %s: %w", run, err)
		}
		for _, a := range all {
			if j := l.away[a.Token]; j != nil && !j.ended {
				l.elsewhere(j, a, now)
			}
		}
	}
	return nil
}

func (l *loop) elsewhere(j *job, a Attempt, now time.Time) {
	e := ending{token: a.Token, started: a.Started, Ending: a.Ending}
	switch {
	case a.State == AttemptEnded:
	case a.State == AttemptIntended && a.Node == "" && a.Stop != nil: // nobody can claim it any more
		e.Ending = Ending{Class: bezoar.Interrupted, Free: true, Reason: a.Stop.Why}
	case a.State == AttemptLost && j.lost.IsZero():
		j.lost = now
		return
	case a.State == AttemptLost && now.Sub(j.lost) >= l.cfg.Lease:
		e.Ending = Ending{Class: bezoar.Interrupted, Lost: true, Reason: fmt.Sprintf("node %s is gone", a.Node)}
	default:
		return
	}
	j.attempt = a
	j.ended = true
	delete(l.away, a.Token)
	l.local[a.Token] = j // until its end is taken
	l.end(e)
}

// admitAll asks again for runs that wait for others: one of these may have ended
// on another node, or wait for a person.
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

// admit says which runs of a flow may begin attempts: the oldest ones.
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

// learn reads how long the tasks of a flow took in its latest runs, if anything
// depends on that.
func (l *loop) learn(ctx context.Context, d Definition) error {
	timed := d.Deadline > 0 || slices.ContainsFunc(d.Tasks, func(t Task) bool { return t.Timeout > 0 })
	if !timed || l.stats.knows(d.Name) {
		return nil
	}
	return learn(ctx, l.store, l.stats, d.Name)
}

// learnRuns is how many runs are read for that.
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
