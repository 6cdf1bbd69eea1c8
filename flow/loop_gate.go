package flow

import (
	"context"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/judge"
	"github.com/bezoar-dev/bezoar/internal/state/marks"
)

// unshared is the state of a judge that is not shared.
type unshared struct{}

func (unshared) Marks(context.Context, string) ([]marks.Mark, error) { return nil, nil }

func (unshared) PutMark(_ context.Context, m marks.Mark) (marks.Mark, error) {
	m.Version++
	return m, nil
}

func (unshared) DeleteMark(context.Context, string, int64) error { return nil }

// minLeave is the least time for which a task without a timeout may test its downstream before the test counts as failed.
const minLeave = 10 * time.Minute

// admitted checks whether an instance may use its downstream. If not, its lane waits.
func (l *loop) admitted(ctx context.Context, lane *lane, j *job, now time.Time) bool {
	i, t := j.inst, j.inst.node.task
	if t.Downstream == "" {
		return true
	}
	limit := t.Timeout + t.Grace
	if t.Timeout == 0 {
		_, p99, _ := l.stats.of(j.plan.run.Flow, i.Task)
		limit = max(minLeave, 2*p99)
	}
	l.cfg.Judge.Refresh(ctx, now)
	pass := l.cfg.Judge.Gate(ctx, now, judge.Source{Group: t.Downstream}, limit)
	if pass.Open {
		j.leave = pass.Trial
		return true
	}
	lane.blocked = now.Add(max(pass.Wait, time.Millisecond))
	if i.Why != pass.Why {
		i.Why = pass.Why
		j.plan.touch(i)
	}
	j.plan.back(i)
	return false
}

// giveBack returns an unused permission to test a downstream.
func (l *loop) giveBack(ctx context.Context, j *job) {
	l.cfg.Judge.Waste(ctx, time.Now(), j.leave)
	j.leave = nil
}

// regate makes instances that wait for a downstream ask again: another node may have found that it works, or an operator
// may have said so.
func (l *loop) regate() {
	for _, p := range l.round {
		for _, lane := range p.ready.all {
			if lane.downstream != "" {
				lane.blocked = time.Time{}
			}
		}
	}
}

// result reports the end of an attempt that used a downstream to the judge.
func (l *loop) result(ctx context.Context, j *job, e Ending, now time.Time) {
	name, leave := j.inst.node.task.Downstream, j.leave
	if name == "" {
		return
	}
	src := judge.Source{Group: name}
	switch {
	case e.Class == bezoar.Done:
		l.cfg.Judge.Worked(ctx, now, src, bezoar.Fingerprint{}, 0, leave)
	case !judge.BlamesDownstream(e.Class): // it says nothing about the downstream
		l.cfg.Judge.Returned(ctx, now, leave, e.Class, "")
	case e.Downstream != "" && e.Downstream != name:
		l.cfg.Judge.Returned(ctx, now, leave, bezoar.Interrupted, "")
		l.cfg.Judge.Failed(ctx, now, judge.Source{Group: e.Downstream}, judge.Failure{Class: e.Class})
	default:
		l.cfg.Judge.Failed(ctx, now, src, judge.Failure{Class: e.Class, Trial: leave})
	}
	if leave == nil {
		return
	}
	for _, p := range l.round {
		for _, lane := range p.ready.all {
			if lane.downstream == name {
				lane.blocked = time.Time{}
			}
		}
	}
}
