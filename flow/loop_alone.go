package flow

import (
	"context"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/policy/task"
)

// alone begins an instance that has to run alone, once nothing else runs on this
// node. It reports whether nothing else may begin here: such an instance runs, or
// waits until what runs here has ended.
func (l *loop) alone(ctx context.Context, u *usage, now time.Time, out *[]*job) (closed bool) {
	if len(l.held) > 0 {
		return true
	}
	for _, j := range l.local {
		if j.spec.Alone {
			return true
		}
	}
	for _, p := range l.round {
		if !p.open {
			continue
		}
		for _, lane := range p.ready.all {
			if !lane.alone || !HasAll(l.cfg.Labels, lane.labels) || now.Before(lane.blocked) || !p.waits(lane) {
				continue
			}
			if u.local > 0 {
				l.waitsAlone(ctx, p, lane.all[0])
				return true
			}
			l.fromLane(ctx, p, lane, u, now, out)
			if u.local > 0 {
				return true
			}
		}
	}
	return false
}

// waitsAlone says why nothing begins on this node.
func (l *loop) waitsAlone(ctx context.Context, p *plan, i *inst) {
	why := fmt.Sprintf("Bezoar, or its machine, has died %d times while it ran: it runs alone, as soon as nothing else runs on node %s", i.History.Lost, l.node.Name)
	if i.Why == why {
		return
	}
	i.Why = why
	p.touch(i)
	l.log.WarnContext(ctx, "no task begins on this node until one has run alone: it may be what kills Bezoar",
		"run", i.Run, "task", i.Task, "index", i.Index, "deaths", i.History.Lost)
}

// waits drops what is not ready any more from the front of a lane, and reports
// whether anything is left.
func (p *plan) waits(l *lane) bool {
	for len(l.all) > 0 && l.all[0].State != task.Ready {
		l.all[0].queued = false
		l.all = l.all[1:]
		p.ready.n--
	}
	return len(l.all) > 0
}

// holdBack keeps an attempt that another node planned, and that has to run alone, until
// nothing else runs here.
func (l *loop) holdBack(ctx context.Context, j *job) {
	l.local[j.attempt.Token] = j
	l.held = append(l.held, j)
	l.release(ctx)
}

// release starts the first attempt that is held when nothing else runs here.
func (l *loop) release(ctx context.Context) {
	if len(l.held) == 0 || len(l.local) > len(l.held) {
		return
	}
	j := l.held[0]
	l.held = l.held[1:]
	l.start(ctx, j)
}

// unhold ends an attempt that is to be stopped before it has started. It reports
// whether it is one.
func (l *loop) unhold(s Stop) bool {
	for k, j := range l.held {
		if j.attempt.Token != s.Token {
			continue
		}
		l.held = append(l.held[:k:k], l.held[k+1:]...)
		l.jobs.Go(func() {
			l.tell(ending{token: s.Token, started: time.Now(), Ending: Ending{Class: s.Class, Free: s.Class == interrupted, Reason: s.Why}})
		})
		return true
	}
	return false
}
