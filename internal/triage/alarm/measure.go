package alarm

import (
	"context"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

const (
	rateWindow  = time.Minute
	tasksLooked = 100
)

// measure looks at what a rule is about.
func (a *Alarms) measure(ctx context.Context, r Rule, now time.Time) (m measure, err error) {
	s := r.selection()
	switch r.Kind {
	case Depth, Rate:
		if r.Kind == Rate {
			s.After = now.Add(-rateWindow)
		}
		n, err := a.config.Letters.Count(ctx, s)
		if err != nil {
			return m, err
		}
		m = measure{value: float64(n), over: n > r.Above, calm: n <= r.Above/10*calmTenth+r.Above%10*calmTenth/10}
	case Oldest:
		if m, err = a.oldest(ctx, r, s, now); err != nil {
			return m, err
		}
		s.Before = now.Add(-r.Age) // its causes
	case Redrive:
		m.ended, err = a.ended(ctx, r)
		m.value = float64(len(m.ended))
		return m, err
	}
	if m.over {
		m.groups, err = a.causes(ctx, s)
	}
	return m, err
}

// oldest says how old the oldest letter is, if it is too old: whether one is
// costs less than to find it.
func (a *Alarms) oldest(ctx context.Context, r Rule, s queue.Selection, now time.Time) (m measure, err error) {
	nearly := s
	nearly.Before = now.Add(-r.Age * calmTenth / 10)
	n, err := a.config.Letters.Count(ctx, nearly)
	if err != nil || n == 0 {
		return measure{calm: true}, err
	}
	s.Before = now.Add(-r.Age)
	if n, err = a.config.Letters.Count(ctx, s); err != nil || n == 0 {
		return m, err
	}
	groups, err := a.config.Letters.Groups(ctx, s, triage.MaxGroups)
	first := s.Before
	for _, g := range groups {
		if g.First.Before(first) {
			first = g.First
		}
	}
	return measure{over: true, value: now.Sub(first).Seconds()}, err
}

func (a *Alarms) causes(ctx context.Context, s queue.Selection) ([]Cause, error) {
	groups, err := a.config.Letters.Groups(ctx, s, maxCauses)
	if err != nil {
		return nil, err
	}
	out := make([]Cause, 0, len(groups))
	for _, g := range groups {
		out = append(out, Cause{
			Queue: g.Queue, Group: clip(g.Key), Class: g.Class.String(), Reason: clip(g.Reason), Count: g.Count, Last: g.Last,
		})
	}
	return out, nil
}

func (a *Alarms) ended(ctx context.Context, r Rule) ([]Ended, error) {
	tasks, err := a.config.Letters.Tasks(ctx, triage.TaskQuery{Source: r.selection().Queue, Limit: tasksLooked})
	if err != nil {
		return nil, fmt.Errorf("list redrives: %w", err)
	}
	var out []Ended
	for _, t := range tasks {
		if t.Verb != triage.Redrive || !t.Over() && t.State != queue.MoveHalted {
			continue
		}
		out = append(out, Ended{
			ID: t.ID, Queue: t.Source, State: t.State, Failure: clip(t.Failure),
			Planned: t.Planned, Moved: t.Moved, Succeeded: t.Succeeded, FailedAgain: t.FailedAgain,
		})
	}
	return out, nil
}
