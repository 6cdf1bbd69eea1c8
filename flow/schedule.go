package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/policy/cron"
)

// maxMissed is the most missed due times that are run at once.
const maxMissed = 1000

// calendar holds the due times of a flow.
type calendar struct {
	cron  cron.Schedule
	zone  *time.Location
	every time.Duration // replaces cron
}

func newCalendar(s Schedule) (calendar, error) {
	zone, err := time.LoadLocation(s.Zone)
	if err != nil {
		return calendar{}, fmt.Errorf("schedule's zone: %w", err)
	}
	c, err := cron.Parse(s.Cron)
	if err != nil {
		return calendar{}, fmt.Errorf("schedule's cron: %w", err)
	}
	return calendar{cron: c, zone: zone}, nil
}

func (c calendar) next(after time.Time) time.Time {
	if c.every > 0 {
		return after.Add(c.every)
	}
	return c.cron.Next(after, c.zone)
}

// between returns the due times after one time and up to another, at most most.
func (c calendar) between(after, until time.Time, most int) (all []time.Time) {
	for at := c.next(after); !at.IsZero() && !at.After(until) && len(all) < most; at = c.next(at) {
		all = append(all, at)
	}
	return all
}

// missed returns the due times after last and up to now that must still run: those within catchUp, or the newest one.
func (c calendar) missed(last, now time.Time, catchUp time.Duration) []time.Time {
	from := now.Add(-catchUp - 1)
	if from.Before(last) {
		from = last
	}
	if all := c.between(from, now, maxMissed); len(all) > 0 {
		if catchUp == 0 {
			return all[len(all)-1:]
		}
		return all
	}
	for span := time.Minute; ; span *= 2 {
		from := now.Add(-span)
		if from.Before(last) {
			from = last
		}
		if all := c.between(from, now, 1<<30); len(all) > 0 {
			return all[len(all)-1:]
		}
		if from.Equal(last) || span > 1<<61 {
			return nil
		}
	}
}

type clock struct {
	calendar
	flow *Definition
	last time.Time // the latest due time that was handled
	due  time.Time // the next one
}

// clocks returns the clocks of all flows with a schedule. An unchanged schedule keeps its clock.
func (l *loop) clocks(ctx context.Context, flows []Definition) ([]*clock, error) {
	var out []*clock
	for k := range flows {
		d := &flows[k]
		if d.Schedule == nil {
			continue
		}
		same := func(c *clock) bool {
			s := c.flow.Schedule
			return c.flow.Name == d.Name && s.Cron == d.Schedule.Cron && s.Zone == d.Schedule.Zone
		}
		if i := slices.IndexFunc(l.timed, same); i >= 0 {
			kept := *l.timed[i]
			kept.flow = d
			out = append(out, &kept)
			continue
		}
		c, err := newCalendar(*d.Schedule)
		if err != nil {
			return nil, fmt.Errorf("flow %s: %w", d.Name, err)
		}
		runs, err := l.store.ListRuns(ctx, RunQuery{Flow: d.Name, Limit: 1000})
		if err != nil {
			return nil, fmt.Errorf("list runs of %s: %w", d.Name, err)
		}
		last := time.Now()
		if i := slices.IndexFunc(runs, func(r Run) bool { return r.Key != "" && r.Backfill == "" }); i >= 0 {
			last = runs[i].Due
		}
		out = append(out, &clock{calendar: c, flow: d, last: last, due: c.next(last)})
	}
	return out, nil
}

// schedules starts the runs that are due. All nodes try; the run's key lets one of them succeed.
func (l *loop) schedules(ctx context.Context) (err error) {
	if l.cfg.Works || l.stopping {
		return nil
	}
	if flows := l.Engine.flows.Load(); l.flows != flows {
		timed, err := l.clocks(ctx, *flows)
		if err != nil {
			return err
		}
		l.timed, l.flows = timed, flows
	}
	now, any := time.Now(), false
	for _, c := range l.timed {
		if c.due.IsZero() || c.due.After(now) {
			continue
		}
		for _, due := range c.missed(c.last, now, c.flow.Schedule.CatchUp) {
			r := StartRequest{Definition: *c.flow, Due: due, Key: scheduleKey(c.flow.Name, due)}
			if _, err := Start(ctx, l.store, r); err != nil && !errors.Is(err, ErrExists) {
				return err
			}
			any = true
		}
		c.last, c.due = now, c.calendar.next(now)
	}
	if any {
		return l.take(ctx)
	}
	return nil
}

func scheduleKey(flow string, due time.Time) string {
	return flow + "@" + due.UTC().Format(time.RFC3339)
}
