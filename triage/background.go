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
// is over. Any number of processes may run desks on one store.
func (d *Desk) Run(ctx context.Context) error {
	var working sync.WaitGroup
	defer working.Wait()
	slots := make(chan struct{}, runsAtOnce)
	tick := time.NewTicker(max(d.config.PollEvery, time.Millisecond))
	defer tick.Stop()
	for {
		d.complain(ctx, "work on tasks", d.workOnRuns(ctx, &working, slots))
		d.complain(ctx, "see how tasks end", d.concludeAll(ctx))
		if ctx.Err() == nil {
			d.trouble.Passed()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-d.kick:
		}
	}
}

// complain says that something went wrong; the next round tries again.
func (d *Desk) complain(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		d.trouble.Failed(what, err)
	}
}

func (d *Desk) workOnRuns(ctx context.Context, working *sync.WaitGroup, slots chan struct{}) error {
	runs, err := d.runs(ctx)
	if err != nil {
		return err
	}
	for _, r := range runs {
		select {
		case slots <- struct{}{}:
		default:
			return nil // they are kept for later, or for others
		}
		w, err := d.claim(ctx, r)
		if w == nil {
			<-slots
			if err != nil {
				return err
			}
			continue
		}
		working.Go(func() {
			defer func() { <-slots }()
			d.complain(ctx, "work on task "+w.Task.ID, w.work(ctx))
		})
	}
	return nil
}

// followed is a task whose end is to be written down.
type followed struct {
	Actor   Actor
	Planned int64
	By      string // the desk that is about to; "": none
}

const (
	followPrefix = "triage/open/"
	followFor    = 90 * 24 * time.Hour
	concludeFor  = time.Minute // a desk that has not done it by then is gone
)

// follow makes Run, of whichever desk, write down how a task ends.
func (d *Desk) follow(ctx context.Context, id string, who Actor, planned int64) {
	_, err := d.putFollowed(context.WithoutCancel(ctx), id, followed{Actor: who, Planned: planned}, 0)
	if err != nil {
		d.config.Log.Error("the end of a task will not be in the audit log", "task", id, "err", err)
	}
}

func (d *Desk) putFollowed(ctx context.Context, id string, f followed, version int64) (int64, error) {
	doc, err := json.Marshal(f)
	if err != nil {
		return 0, err
	}
	m, err := d.Marks().PutMark(ctx, queue.Mark{Key: followPrefix + id, Version: version, Doc: doc, TTL: followFor})
	return m.Version, err
}

// concludeAll writes down how tasks ended, each once, and once more if the
// desk that did dies over it.
func (d *Desk) concludeAll(ctx context.Context) error {
	marks, err := d.Marks().Marks(ctx, followPrefix)
	if err != nil {
		return err
	}
	for _, m := range marks {
		if err := d.conclude(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (d *Desk) conclude(ctx context.Context, m queue.Mark) error {
	id := strings.TrimPrefix(m.Key, followPrefix)
	var f followed
	if err := json.Unmarshal(m.Doc, &f); err != nil {
		return wrap(err, "read mark %s", m.Key)
	}
	if f.By != "" && m.Age < concludeFor {
		return nil
	}
	t, err := d.task(ctx, id)
	gone := errors.Is(err, queue.ErrMoveNotFound) // forgotten as one of too many
	if err != nil && !gone {
		return err
	}
	if !gone && !t.Over() {
		return nil
	}
	f.By = d.id
	version, err := d.putFollowed(ctx, id, f, m.Version)
	if errors.Is(err, queue.ErrConflict) {
		return nil // another desk does it
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
		d.audit(ctx, f.Actor, string(t.Verb)+".end", id, note, failed)
	}
	return d.Marks().DeleteMark(ctx, followPrefix+id, version)
}
