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

// Run works on the tasks of sources and writes down how tasks ended, until ctx
// is over. Any number of processes may run services on one store.
func (svc *Service) Run(ctx context.Context) error {
	var working sync.WaitGroup
	defer working.Wait()
	slots := make(chan struct{}, runsAtOnce)
	tick := time.NewTicker(max(svc.config.PollEvery, time.Millisecond))
	defer tick.Stop()
	for {
		svc.complain(ctx, "work on tasks", svc.workOnRuns(ctx, &working, slots))
		svc.complain(ctx, "see how tasks end", svc.concludeAll(ctx))
		if ctx.Err() == nil {
			svc.errlog.Passed()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
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

func (svc *Service) workOnRuns(ctx context.Context, working *sync.WaitGroup, slots chan struct{}) error {
	runs, err := svc.runs(ctx)
	if err != nil {
		return err
	}
	for _, r := range runs {
		select {
		case slots <- struct{}{}:
		default:
			return nil // they are kept for later, or for others
		}
		w, err := svc.claim(ctx, r)
		if w == nil {
			<-slots
			if err != nil {
				return err
			}
			continue
		}
		working.Go(func() {
			defer func() { <-slots }()
			svc.complain(ctx, "work on task "+w.Task.ID, w.work(ctx))
		})
	}
	return nil
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
// service that did dies over it.
func (svc *Service) concludeAll(ctx context.Context) error {
	marks, err := svc.Marks().Marks(ctx, followPrefix)
	if err != nil {
		return err
	}
	for _, m := range marks {
		if err := svc.conclude(ctx, m); err != nil {
			return err
		}
	}
	return nil
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
