package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/supervise"
)

// How long a fleet that a reload adds is waited for until the first of its
// workers serves; less when all of them have failed to start a few times.
const (
	startPatience = time.Minute
	startTries    = 3
)

// trial is the first time of a fleet that a reload adds: what fails then is the
// reload's fault, and takes down nothing else.
type trial struct {
	failed func(what string, err error) error

	mu   sync.Mutex // guards what follows
	over bool
	err  error
}

func (t *trial) fail(what string, err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return t.failed(what, err)
	}
	t.err = errors.Join(t.err, err)
	return err
}

func (t *trial) fault() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// end ends it, and says what failed.
func (t *trial) end() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	return t.err
}

// await starts fleets and waits until one worker of each serves.
func (a *App) await(ctx context.Context, units []*unit) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	trials := make([]*trial, len(units))
	for i, u := range units {
		if err := u.ledger.Load(ctx, nil); err != nil {
			return err
		}
		trials[i] = &trial{failed: a.failed}
		u.start(a.base, trials[i].fail)
	}
	for i, u := range units {
		err := u.awaitFirst(ctx, trials[i])
		if err == nil {
			err = trials[i].end()
		}
		if err != nil {
			return fmt.Errorf("fleets.%s: none of its workers serves: %w", u.name, err)
		}
	}
	return nil
}

// awaitFirst waits until a worker serves, or none is going to.
func (u *unit) awaitFirst(ctx context.Context, t *trial) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for u.fleet.Serving() == 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %v: %w", startPatience, ctx.Err())
		case <-tick.C:
		}
		if err := errors.Join(t.fault(), u.hopeless()); err != nil {
			return err
		}
	}
	return nil
}

// hopeless says why none of the workers started, after a few tries of each.
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
