package flow

import (
	"context"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/policy/task"
)

// alone begins an instance that must run alone, once nothing else runs on this node. It reports whether no other attempt
// may begin here: because such an instance runs, or waits for the running attempts.
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

// waitsAlone records why no attempt begins on this node.
func (l *loop) waitsAlone(ctx context.Context, p *plan, i *inst) {
	why := fmt.Sprintf("Bezoar, or its machine, has died %d times while it ran: it will run alone, as soon as no other attempt runs on node %s", i.History.Lost, l.node.Name)
	if i.Why == why {
		return
	}
	i.Why = why
	p.touch(i)
	l.log.WarnContext(ctx, "one task must run alone on this node, because it may be what kills Bezoar: other tasks wait",
		"run", i.Run, "task", i.Task, "index", i.Index, "deaths", i.History.Lost)
}

// waits drops instances that are no longer ready from the front of a lane, and reports whether any are left.
func (p *plan) waits(l *lane) bool {
	for len(l.all) > 0 && l.all[0].State != task.Ready {
		l.all[0].queued = false
		l.all = l.all[1:]
		p.ready.n--
	}
	return len(l.all) > 0
}

// holdBack keeps an attempt of another planner that must run alone, until nothing else runs here.
func (l *loop) holdBack(ctx context.Context, j *job) {
	l.local[j.attempt.Token] = j
	l.held = append(l.held, j)
	l.release(ctx)
}

// release starts the first attempt kept by holdBack, when nothing else runs here.
func (l *loop) release(ctx context.Context) {
	if len(l.held) == 0 || len(l.local) > len(l.held) {
		return
	}
	j := l.held[0]
	l.held = l.held[1:]
	l.start(ctx, j)
}

// unhold ends a held attempt that is stopped before it started. It reports whether there was one.
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
