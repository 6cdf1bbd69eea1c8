package triage

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// idleEvery is how often Run looks for tasks that nobody has told it of.
const idleEvery = 10 * time.Second

// Run works on the tasks of sources and writes down how tasks ended, until ctx
// is over. Any number of processes may run services on one store.
func (svc *Service) Run(ctx context.Context) error {
	var working sync.WaitGroup
	defer working.Wait()
	slots := make(chan struct{}, runsAtOnce)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		live, err := svc.workOnRuns(ctx, &working, slots)
		svc.complain(ctx, "work on tasks", err)
		open, err2 := svc.concludeAll(ctx)
		svc.complain(ctx, "see how tasks end", err2)
		if ctx.Err() == nil {
			svc.errlog.Passed()
		}
		every := max(svc.config.PollEvery, time.Millisecond)
		if err == nil && err2 == nil && live+open == 0 && !svc.config.Queue.Shared() {
			every = max(every, idleEvery) // whoever starts a task in this process kicks
		}
		timer.Reset(every)
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-svc.kick:
		}
	}
}

// complain says that something went wrong; the next round tries again.
func (svc *Service) complain(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		svc.errlog.Failed(what, err)
	}
}

// workOnRuns begins to work on tasks that nobody works on. It returns how many tasks are not over.
func (svc *Service) workOnRuns(ctx context.Context, working *sync.WaitGroup, slots chan struct{}) (live int, err error) {
	runs, err := svc.runs(ctx)
	if err != nil {
		return 0, err
	}
	for _, r := range runs {
		if r.Task.State.Live() {
			live++
		}
	}
	for _, r := range runs {
		select {
		case slots <- struct{}{}:
		default:
			return live, nil // they are kept for later, or for others
		}
		w, err := svc.claim(ctx, r)
		if w == nil {
			<-slots
			if err != nil {
				return live, err
			}
			continue
		}
		working.Go(func() {
			defer func() { <-slots }()
			svc.complain(ctx, "work on task "+w.Task.ID, w.work(ctx))
		})
	}
	return live, nil
}

// followed is a task whose end is to be written down.
type followed struct {
	Actor   Actor
	Planned int64
	By      string // the service that is about to; "": none
}

const (
	followPrefix = "triage/open/"
	followFor    = 90 * 24 * time.Hour
	concludeFor  = time.Minute // a service that has not done it by then is gone
)

// follow makes Run, of whichever service, write down how a task ends.
func (svc *Service) follow(ctx context.Context, id string, who Actor, planned int64) {
	_, err := svc.putFollowed(context.WithoutCancel(ctx), id, followed{Actor: who, Planned: planned}, 0)
	if err != nil {
		svc.config.Log.Error("the end of a task will not be in the audit log", "task", id, "err", err)
	}
	svc.hurry()
}

func (svc *Service) putFollowed(ctx context.Context, id string, f followed, version int64) (int64, error) {
	doc, err := json.Marshal(f)
	if err != nil {
		return 0, err
	}
	m, err := svc.Marks().PutMark(ctx, queue.Mark{Key: followPrefix + id, Version: version, Doc: doc, TTL: followFor})
	return m.Version, err
}

// concludeAll writes down how tasks ended, each once, and once more if the
// service that did dies over it. It returns how many tasks had no end yet.
func (svc *Service) concludeAll(ctx context.Context) (open int, err error) {
	marks, err := svc.Marks().Marks(ctx, followPrefix)
	if err != nil {
		return 0, err
	}
	for _, m := range marks {
		if err := svc.conclude(ctx, m); err != nil {
			return len(marks), err
		}
	}
	return len(marks), nil
}

func (svc *Service) conclude(ctx context.Context, m queue.Mark) error {
	id := strings.TrimPrefix(m.Key, followPrefix)
	var f followed
	if err := json.Unmarshal(m.Doc, &f); err != nil {
		return wrap(err, "read mark %s", m.Key)
	}
	if f.By != "" && m.Age < concludeFor {
		return nil
	}
	t, err := svc.task(ctx, id)
	gone := errors.Is(err, queue.ErrMoveNotFound) // forgotten as one of too many
	if err != nil && !gone {
		return err
	}
	if !gone && !t.Over() {
		return nil
	}
	f.By = svc.id
	version, err := svc.putFollowed(ctx, id, f, m.Version)
	if errors.Is(err, queue.ErrConflict) {
		return nil // another service does it
	}
	if err != nil {
		return err
	}
	if !gone {
		note := Detail{Planned: &f.Planned, Actual: &t.Moved, Outcome: string(t.State)}
		if t.Verb == Redrive {
			note.FailedAgain = &t.FailedAgain
		}
		var failed error
		if t.State == queue.MoveFailed {
			failed = errors.New(t.Failure)
		}
		svc.audit(ctx, f.Actor, string(t.Verb)+".end", id, note, failed)
	}
	return svc.Marks().DeleteMark(ctx, followPrefix+id, version)
}
