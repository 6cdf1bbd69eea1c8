package flow

import (
	"context"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// offers takes attempts that name no node.
func (l *loop) offers(ctx context.Context) error {
	free := l.cfg.Slots - len(l.local)
	if free <= 0 || l.closed || len(l.cfg.Labels) == 0 {
		return nil
	}
	all, err := l.store.Offers(ctx, l.node, free)
	if err != nil {
		return fmt.Errorf("claim attempts: %w", err)
	}
	var alone []*job
	for _, a := range all {
		j := l.away[a.Token]
		switch {
		case j != nil: // this node plans it, and has the labels
			j.attempt = a
			delete(l.away, a.Token)
		case a.Spec == nil:
			l.reports = append(l.reports, over(a, ending{Ending: Ending{Class: bezoar.SpawnFailed, Reason: "the attempt contains no command"}}, time.Now()))
			continue
		default:
			j = &job{attempt: a}
		}
		if j.spec = *a.Spec; j.spec.Alone {
			alone = append(alone, j)
			continue
		}
		l.start(ctx, j)
	}
	for _, j := range alone {
		l.holdBack(ctx, j)
	}
	return nil
}

// report tells the planners on other nodes how their attempts ended.
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

// wishes stops attempts as their planners on other nodes ask.
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

// others handles the ends of attempts on other nodes. An attempt on a lost node ends once that node's guardian has had the
// time to kill it.
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
				l.elsewhere(ctx, j, a, now)
			}
		}
	}
	return nil
}

func (l *loop) elsewhere(ctx context.Context, j *job, a Attempt, now time.Time) {
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
	l.local[a.Token] = j // until its end is handled
	l.end(ctx, e)
}
