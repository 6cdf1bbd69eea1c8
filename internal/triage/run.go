package triage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// run is a task that moves the letters of a source: one after the other, by one
// service at a time, its progress in a mark.
type run struct {
	Task   queue.MoveTask
	Cursor int64 // letters below this sequence are still to come; 0: all
	// Current is the letter that is being run, written down before it is: after
	// a crash nobody knows how that ended, and it is not run twice.
	Current string
	Owner   string // the service that works on it; "": none

	version int64
	age     time.Duration // since the mark was put, when it was read
}

// The bounds of runs.
const (
	maxLiveRuns = 100
	runsAtOnce  = 4               // of one service
	ownedFor    = 2 * time.Minute // an owner who has not written for so long is gone
	liveRunFor  = 90 * 24 * time.Hour
	endedRunFor = 7 * 24 * time.Hour
	runPrefix   = "triage/run/"
)

func (r run) view() Task {
	t := view(r.Task)
	if r.Task.State == queue.MoveRunning && r.age > 2*ownedFor {
		t.Failure = fmt.Sprintf("interrupted: no process with the source %s has worked on it for %v", r.Task.Source, r.age.Round(time.Second))
	}
	return t
}

// startRun stores a task of a source; Run does the work.
func (svc *Service) startRun(ctx context.Context, t queue.MoveTask) (queue.MoveTask, error) {
	runs, err := svc.runs(ctx)
	if err != nil {
		return t, err
	}
	live := 0
	for _, r := range runs {
		if r.Task.State.Live() {
			live++
		}
	}
	if live >= maxLiveRuns {
		return t, invalid("%d tasks of sources are not over yet, at most %d may be", live, maxLiveRuns)
	}
	t.ID, t.State, t.Started = newID("run"), queue.MoveRunning, svc.config.Now()
	_, err = svc.putRun(ctx, run{Task: t})
	svc.hurry()
	return t, err
}

func (svc *Service) hurry() {
	select {
	case svc.kick <- struct{}{}:
	default: // it will
	}
}

func (svc *Service) runs(ctx context.Context) ([]run, error) {
	if len(*svc.sources.Load()) == 0 {
		return nil, nil
	}
	marks, err := svc.Marks().Marks(ctx, runPrefix)
	if err != nil {
		return nil, err
	}
	out := make([]run, 0, len(marks))
	for _, m := range marks {
		r, err := parseRun(m)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// run returns one, or queue.ErrMoveNotFound.
func (svc *Service) run(ctx context.Context, id string) (run, error) {
	m, err := svc.mark(ctx, runPrefix+id)
	if err != nil {
		return run{}, err
	}
	if m == nil {
		return run{}, queue.ErrMoveNotFound
	}
	return parseRun(*m)
}

func parseRun(m queue.Mark) (run, error) {
	r := run{version: m.Version, age: m.Age}
	if err := json.Unmarshal(m.Doc, &r); err != nil {
		return r, fmt.Errorf("read mark %s: %w", m.Key, err)
	}
	return r, nil
}

// putRun replaces r as it was read, or returns queue.ErrConflict.
func (svc *Service) putRun(ctx context.Context, r run) (run, error) {
	doc, err := json.Marshal(r)
	if err != nil {
		return r, err
	}
	ttl := liveRunFor
	if !r.Task.State.Live() {
		ttl = endedRunFor
	}
	m, err := svc.Marks().PutMark(ctx, queue.Mark{Key: runPrefix + r.Task.ID, Version: r.version, Doc: doc, TTL: ttl})
	if err == nil {
		r.version, r.age = m.Version, 0
	}
	return r, err
}

func (svc *Service) changeRun(ctx context.Context, id string, c queue.MoveChange) (run, error) {
	for {
		r, err := svc.run(ctx, id)
		if err != nil {
			return r, err
		}
		if !r.Task.State.Live() {
			return r, queue.ErrMoveNotRunning
		}
		if c.Rate > 0 {
			r.Task.Rate = c.Rate
		}
		switch {
		case c.State == queue.MoveRunning:
			if r.Task.State == queue.MoveHalted {
				r.Task.Forgiven = r.Task.Dead
			}
			r.Task.State, r.Task.Failure = queue.MoveRunning, ""
		case c.State == queue.MovePaused && r.Task.State == queue.MoveRunning:
			r.Task.State = queue.MovePaused
		case c.State == queue.MoveCancelled:
			r.Task.State, r.Task.Ended = queue.MoveCancelled, svc.config.Now()
		}
		r, err = svc.putRun(ctx, r)
		if errors.Is(err, queue.ErrConflict) {
			continue // its owner has written meanwhile
		}
		svc.hurry()
		return r, err
	}
}
