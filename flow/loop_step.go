package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/task"
)

const (
	interrupted = bezoar.Interrupted
	maxAway     = 1000 // attempts offered to other nodes, or running there
	maxBatch    = 2000 // attempts that begin in one batch
)

// step stores all changes together with the attempts that may begin, and starts these. It reports whether there is more to
// do at once.
func (l *loop) step(ctx context.Context) (again bool, err error) {
	now := time.Now()
	var b Batch
	var begun []*job
	if !l.stopping {
		for _, p := range l.round {
			p.tick(now)
			p.settle(now)
		}
		l.release(ctx)
		begun = l.fill(ctx, now)
	}
	for _, p := range l.round {
		p.settle(now)
		l.effectsOf(ctx, p, &b)
		p.flush(&b)
	}
	for _, j := range begun {
		b.Begin = append(b.Begin, j.attempt)
	}
	b.End, l.ended = l.ended, nil
	if err := l.report(ctx); err != nil {
		return false, err
	}
	if len(b.Runs)+len(b.Instances)+len(b.Begin)+len(b.End)+len(b.Done)+len(b.Stop)+len(b.Free) == 0 {
		return false, nil
	}
	applied, err := l.apply(ctx, b)
	if err != nil {
		return false, err
	}
	if err := l.begun(ctx, begun, applied, now); err != nil {
		return false, err
	}
	return l.forget(ctx)
}

// effectsOf passes a plan's letters, pages and orders on.
func (l *loop) effectsOf(ctx context.Context, p *plan, b *Batch) {
	for _, s := range p.out.stops {
		if l.local[s.Token] != nil {
			l.stopJob(ctx, s)
			continue
		}
		b.Stop = append(b.Stop, s)
	}
	p.out.stops = nil
	for _, letter := range p.out.letters {
		l.letters.add(letter)
	}
	for _, s := range p.out.settled {
		l.settles.add(s)
	}
	for _, page := range p.out.pages {
		l.pages.add(p.counted(page))
	}
	p.out.letters, p.out.settled, p.out.pages = nil, nil, nil
}

// apply writes a batch. It waits while the store does not answer. Before ctx ends, it gives up only if another node has
// taken over.
func (l *loop) apply(ctx context.Context, b Batch) (Applied, error) {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		applied, err := l.store.Apply(ctx, l.hold, b)
		if errors.Is(err, ErrFenced) && l.without(ctx, &b) {
			continue
		}
		if err == nil || errors.Is(err, ErrFenced) || ctx.Err() != nil {
			return applied, err
		}
		if l.stopping && wait > time.Second {
			return applied, fmt.Errorf("write a batch of runs: %w", err)
		}
		l.log.ErrorContext(ctx, "a batch of runs was not written; it is tried again", "err", err, "in", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return applied, ctx.Err()
		}
	}
}

// usage counts the slots and keys of open attempts that this engine knows.
type usage struct {
	pools, keys map[string]int
	alone       map[string]int // by labels: attempts that run alone, offered to other nodes or running there
	local, away int
}

func (u *usage) add(a *Attempt) {
	if a.Pool != "" {
		u.pools[a.Pool] += a.Slots
	}
	if a.Key != "" {
		u.keys[a.Key]++
	}
	if a.Spec != nil && a.Spec.Alone {
		u.alone[strings.Join(a.Labels, ",")]++
	}
}

// fill chooses the attempts that begin now. Runs take turns.
func (l *loop) fill(ctx context.Context, now time.Time) (out []*job) {
	u := &usage{pools: map[string]int{}, keys: map[string]int{}, alone: map[string]int{}, local: len(l.local), away: len(l.away)}
	for _, j := range l.local {
		u.add(&j.attempt)
	}
	for _, j := range l.away {
		u.add(&j.attempt)
	}
	l.closed = l.alone(ctx, u, now, &out)
	for more := true; more && len(out) < maxBatch; {
		more = false
		for _, p := range l.round {
			if !p.open || p.ready.n == 0 {
				continue
			}
			for _, lane := range p.ready.all {
				took := l.fromLane(ctx, p, lane, u, now, &out)
				more = more || took
			}
		}
	}
	if len(l.round) > 1 { // next time another run is first
		l.round = append(l.round[1:], l.round[0])
	}
	return out
}

// fairShare is how many attempts of one lane begin before the next lane's turn.
const fairShare = 16

func (l *loop) fromLane(ctx context.Context, p *plan, lane *lane, u *usage, now time.Time, out *[]*job) (took bool) {
	here, most := HasAll(l.cfg.Labels, lane.labels), l.cfg.Slots
	if lane.alone || l.closed { // alone begins the former
		most = 1
	}
	size := lane.poolSize(l.cfg.Pools)
	for range fairShare {
		if now.Before(lane.blocked) || here && u.local >= most || !here && (u.away >= maxAway || lane.alone && u.alone[lane.laneKey.labels] > 0) ||
			lane.pool != "" && size > 0 && u.pools[lane.pool] >= size {
			return took
		}
		i := p.next(lane)
		if i == nil {
			return took
		}
		took = true
		if lane.pool != "" && (size == 0 || i.node.task.Slots > size) {
			p.refuse(i, fmt.Errorf("pool %s has %d slots, and the task takes %d", lane.pool, size, i.node.task.Slots), now)
			continue
		}
		if !l.propose(ctx, p, lane, i, u, size, now, out) {
			return took
		}
	}
	return took
}

func (lane *lane) poolSize(others map[string]int) int {
	if lane.size > 0 {
		return lane.size
	}
	return others[lane.pool]
}

// propose creates the attempt of one instance, unless its pool, its key or its breaker forbids it. It returns false if the
// lane is blocked.
func (l *loop) propose(ctx context.Context, p *plan, lane *lane, i *inst, u *usage, size int, now time.Time, out *[]*job) bool {
	t := i.node.task
	if lane.pool != "" && u.pools[lane.pool]+t.Slots > size {
		p.back(i)
		return false
	}
	a, spec, ok := p.prepare(i, now)
	if !ok {
		return true
	}
	j := &job{attempt: a, plan: p, inst: i, spec: spec}
	if a.Key != "" && u.keys[a.Key] >= a.Limit {
		l.keyed[a.Key] = append(l.keyed[a.Key], j)
		return true
	}
	if !l.admitted(ctx, lane, j, now) {
		return false
	}
	j.attempt.PoolSize = size
	if lane.pool == "" {
		j.attempt.PoolSize = 0
	}
	if HasAll(l.cfg.Labels, lane.labels) {
		j.attempt.Node = l.node.Name
		u.local++
	} else {
		j.attempt.Spec = &j.spec
		u.away++
	}
	u.add(&j.attempt)
	p.begin(i, j.attempt, now)
	*out = append(*out, j)
	return true
}

type attemptID struct {
	run, task string
	index, n  int
}

func idOf(a *Attempt) attemptID { return attemptID{a.Run, a.Task, a.Index, a.N} }

// begun starts the attempts that were stored, and puts the others back.
func (l *loop) begun(ctx context.Context, all []*job, applied Applied, now time.Time) error {
	written := make(map[attemptID]*Attempt, len(applied.Begun))
	for k := range applied.Begun {
		written[idOf(&applied.Begun[k])] = &applied.Begun[k]
	}
	for _, j := range all {
		a := written[idOf(&j.attempt)]
		if l.plans[j.attempt.Run] != j.plan { // another node has taken the run
			l.giveBack(ctx, j)
			continue
		}
		if a == nil {
			j.plan.notBegun(j.inst, now)
			l.giveBack(ctx, j)
			if err := l.putBack(ctx, j, applied.Taken, now); err != nil {
				return err
			}
			continue
		}
		j.attempt = *a
		j.plan.began(j.inst, *a)
		if a.Node == l.node.Name {
			l.start(ctx, j)
		} else {
			l.away[a.Token] = j
		}
	}
	return nil
}

// putBack records what an instance waits for whose attempt was not stored.
func (l *loop) putBack(ctx context.Context, j *job, taken []Effect, now time.Time) error {
	k := slices.IndexFunc(taken, func(e Effect) bool { return e.Key == j.attempt.Effect })
	if j.attempt.Effect != "" && k >= 0 {
		return l.taken(ctx, j, taken[k], now)
	}
	if j.attempt.Key != "" {
		l.keyed[j.attempt.Key] = append(l.keyed[j.attempt.Key], j)
		return nil
	}
	for _, lane := range j.plan.ready.all {
		if lane.pool == j.attempt.Pool {
			lane.blocked = now.Add(l.cfg.Poll) // other attempts have its slots
		}
	}
	j.plan.back(j.inst)
	return nil
}

// taken makes an instance follow the state of its side effect elsewhere.
func (l *loop) taken(ctx context.Context, j *job, e Effect, now time.Time) error {
	where := fmt.Sprintf("in run %s, task %s", e.Run, e.Task)
	if e.Done {
		j.inst.Output = e.Output
		j.plan.move(j.inst, task.Succeed, "its side effect has happened "+where, now)
		return nil
	}
	all, err := l.store.ListAttempts(ctx, AttemptQuery{After: e.Token - 1, Limit: 1})
	if err != nil {
		return fmt.Errorf("read attempt %d: %w", e.Token, err)
	}
	if len(all) == 1 && all[0].Token == e.Token && all[0].State == AttemptEnded {
		j.plan.refuse(j.inst, fmt.Errorf("its side effect may have happened %s, attempt %d: a person has to decide", where, all[0].N), now)
		return nil
	}
	j.inst.Why = "its side effect is about to happen " + where
	l.later = append(l.later, j)
	return nil
}

// forget drops runs that are over and stored.
func (l *loop) forget(ctx context.Context) (again bool, err error) {
	for _, p := range slices.Clone(l.round) {
		again = again || p.ready.n > 0 && p.open && !l.closed && p.couldBegin(time.Now()) && len(l.local) < l.cfg.Slots || len(p.dirty) > 0
		if !p.over || p.changed || len(p.dirty) > 0 || len(p.orders) > 0 || p.run.Untold() {
			continue
		}
		delete(l.plans, p.run.ID)
		delete(l.hold.Runs, p.run.ID)
		l.round = slices.DeleteFunc(l.round, func(is *plan) bool { return is == p })
		if err := l.admit(ctx, p.run.Flow); err != nil {
			return false, err
		}
		again = true
	}
	return again, nil
}

// couldBegin reports whether a lane waits only for a slot.
func (p *plan) couldBegin(now time.Time) bool {
	return slices.ContainsFunc(p.ready.all, func(l *lane) bool { return len(l.all) > 0 && !now.Before(l.blocked) })
}
