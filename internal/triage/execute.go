package triage

import (
	"context"
	"fmt"

	"github.com/bezoar-dev/bezoar/queue"
)

// Execute starts what a plan says, if each of its parts still has as many
// letters as when it was made; else a [ChangedError]. Each part is a task.
// A plan is used once, also when what it starts fails: then plan anew.
func (svc *Service) Execute(ctx context.Context, who Actor, plan string) ([]Task, error) {
	p, version, err := svc.usePlan(ctx, plan)
	if err != nil {
		err = wrap(err, "execute plan %.64q", plan)
		svc.audit(ctx, who, refusedAction(p), bound(plan, 64), Detail{Plan: p.ID}, err)
		return nil, err
	}
	tasks, err := svc.start(ctx, who, p)
	for _, t := range tasks {
		p.Tasks = append(p.Tasks, t.ID)
	}
	if _, e := svc.putPlan(ctx, p, version, usedFor); e != nil {
		svc.config.Log.Warn("a plan does not know its tasks", "plan", p.ID, "tasks", p.Tasks, "err", e)
	}
	return tasks, wrap(err, "execute plan %s", p.ID)
}

func refusedAction(p Plan) string {
	if p.Verb == "" {
		return "plan.start"
	}
	return string(p.Verb) + ".start"
}

// Do plans and executes at once, if there are exactly as many letters as the
// caller expects; else a [ChangedError]. A negative expect takes what is there.
func (svc *Service) Do(ctx context.Context, who Actor, v Verb, s queue.Selection, o Options, expect int64) ([]Task, error) {
	p, err := svc.plan(ctx, who, v, s, o)
	switch {
	case err == nil && expect >= 0 && expect != p.Count:
		err = &ChangedError{Planned: expect, Now: p.Count}
	case err != nil && expect > 0 && CodeOf(err) == ErrNothing:
		err = &ChangedError{Planned: expect}
	}
	if err != nil {
		err = wrap(err, "%s", v)
		svc.audit(ctx, who, string(v)+".start", s.Queue, svc.planned(p, s, o), err)
		return nil, err
	}
	p.ID = "" // nobody will ask for it
	tasks, err := svc.start(ctx, who, p)
	return tasks, wrap(err, "%s", v)
}

// DoLetters does v to single letters, by their ids: all or none.
func (svc *Service) DoLetters(ctx context.Context, who Actor, v Verb, ids []string, o Options) ([]Task, error) {
	distinct := make(map[string]bool, len(ids))
	for _, id := range ids {
		distinct[id] = true
	}
	s := queue.Selection{IDs: ids}
	refuse := func(err error) ([]Task, error) {
		err = wrap(err, "%s %d letters", v, len(distinct))
		note := Detail{Options: &o}
		note.Selection, note.More = noted(s)
		svc.audit(ctx, who, string(v)+".start", "", note, err)
		return nil, err
	}
	if len(ids) == 0 {
		return refuse(invalid("ids: none is given"))
	}
	p, err := svc.plan(ctx, who, v, s, o)
	if err != nil && CodeOf(err) != ErrNothing {
		return refuse(err)
	}
	if p.Count != int64(len(distinct)) {
		return refuse(svc.missing(ctx, v, ids, p.Count))
	}
	p.ID = ""
	tasks, err := svc.start(ctx, who, p)
	return tasks, wrap(err, "%s %d letters", v, len(ids))
}

// missing names the first letter that is not where v needs it.
func (svc *Service) missing(ctx context.Context, v Verb, ids []string, n int64) error {
	for _, id := range ids {
		m, _, err := svc.find(ctx, id)
		switch {
		case err != nil:
			return wrap(err, "letter %.100q", id)
		case v == Restore && m.Queue != queue.TrashQueue:
			return fmt.Errorf("letter %.100q is in %s and not in the trash: %w", id, m.Queue, queue.ErrLetterNotFound)
		case v != Restore && m.Queue == queue.TrashQueue:
			return fmt.Errorf("letter %.100q is in the trash, restore it first: %w", id, queue.ErrLetterNotFound)
		}
	}
	return fmt.Errorf("of %d letters %d were found: %w", len(ids), n, queue.ErrLetterNotFound)
}

// start starts a task for each part, and says so in the log. The tasks that
// were started before one could not be go on.
func (svc *Service) start(ctx context.Context, who Actor, p Plan) ([]Task, error) {
	var tasks []Task
	for _, part := range p.Parts {
		t, pardoned, err := svc.startPart(ctx, who, p, part)
		note := Detail{Plan: p.ID, Planned: &part.Count, Options: &p.Options, Pardoned: pardoned}
		note.Selection, note.More = noted(part.of(p.Selection))
		if err != nil {
			svc.audit(ctx, who, string(p.Verb)+".start", part.Queue, note, err)
			return tasks, err
		}
		note.Actual, note.Tasks = &t.ToMove, []string{t.ID}
		svc.audit(ctx, who, string(p.Verb)+".start", t.ID, note, nil)
		svc.follow(ctx, t.ID, who, part.Count)
		tasks = append(tasks, view(t))
	}
	return tasks, nil
}

func (svc *Service) startPart(ctx context.Context, who Actor, p Plan, part Part) (t queue.MoveTask, pardoned int, err error) {
	kind, err := p.Verb.kind()
	if err != nil {
		return t, 0, err
	}
	if p.Options.Pardon {
		if pardoned, err = svc.pardon(ctx, part.of(p.Selection), p.Options.Destination); err != nil {
			return t, pardoned, err
		}
	}
	t = queue.MoveTask{
		Kind: kind, Source: part.Queue, Destination: p.Options.Destination, Selection: part.of(p.Selection),
		Rate: p.Options.Rate, Canary: p.Options.Canary, HaltAbove: p.Options.HaltAbove,
		Actor: bound(string(who), 256), Reason: p.Options.Reason,
	}
	if svc.source(part.Queue) != nil {
		t.ToMove = part.Count
		t, err = svc.startRun(ctx, t)
		return t, 0, err
	}
	t, err = svc.config.Queue.StartTask(ctx, t)
	return t, pardoned, err
}
