package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/process/supervise"
)

// How long a reload waits for the first worker of a new fleet; less if all its workers have failed to start a few times.
const (
	startPatience = time.Minute
	startTries    = 3
)

// firstStart is the first start of a fleet that a reload adds. An error then makes the reload fail, and ends nothing else.
type firstStart struct {
	failed func(what string, err error) error

	mu   sync.Mutex // guards what follows
	over bool
	err  error
}

func (s *firstStart) fail(what string, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return s.failed(what, err)
	}
	s.err = errors.Join(s.err, err)
	return err
}

func (s *firstStart) fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// end ends the first start, and returns its error.
func (s *firstStart) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	return s.err
}

// await starts fleets and waits until one worker of each serves.
func (a *App) await(ctx context.Context, units []*unit) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	starts := make([]*firstStart, len(units))
	for i, u := range units {
		if err := u.ledger.Load(ctx, nil); err != nil {
			return err
		}
		starts[i] = &firstStart{failed: a.failed}
		u.start(a.base, starts[i].fail)
	}
	for i, u := range units {
		err := u.awaitFirst(ctx, starts[i])
		if err == nil {
			err = starts[i].end()
		}
		if err != nil {
			return fmt.Errorf("fleets.%s: none of its workers serves: %w", u.name, err)
		}
	}
	return nil
}

// awaitFirst waits until a worker serves, or none is going to.
func (u *unit) awaitFirst(ctx context.Context, s *firstStart) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for u.fleet.Serving() == 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %v: %w", startPatience, ctx.Err())
		case <-tick.C:
		}
		if err := errors.Join(s.fault(), u.hopeless()); err != nil {
			return err
		}
	}
	return nil
}

// hopeless returns why none of the workers started, after a few tries of each.
func (u *unit) hopeless() error {
	if u.super == nil {
		return nil
	}
	all := u.super.Status()
	if slices.ContainsFunc(all, func(s supervise.WorkerStatus) bool { return s.LastError == "" || s.Restarts < startTries-1 }) {
		return nil
	}
	return errors.New(all[0].LastError)
}
