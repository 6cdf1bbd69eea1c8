package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// olderTried is how many versions Start tries before it gives up.
const olderTried = 10

// Start looks at the file and the store, decides what should run, and applies
// it. If that cannot run, the file's content is tried, and then older versions,
// newest first; that is logged and in the status. It fails if nothing runs.
// Run begins with it unless something runs already.
func (l *Live) Start(ctx context.Context) error {
	leave, err := l.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if l.running.Sum != "" {
		return nil
	}
	var fileErr error
	var file Version
	storeErr := l.refresh(ctx) // first: a file that is named may be in a version only
	if l.config.Path != "" {
		if _, fileErr = l.look(); l.pending != nil {
			file = *l.pending
			if storeErr == nil {
				storeErr = l.refresh(ctx)
			}
		}
	}
	l.answered(ctx, storeErr)
	err = l.settle(ctx, true)
	if l.running.Sum != "" {
		return nil
	}
	if err == nil { // nothing is wanted
		return fmt.Errorf("start with live settings: %w", errors.Join(fileErr, storeErr, noSettings(fileErr, storeErr)))
	}
	if l.fallBack(ctx, file) {
		return nil
	}
	return fmt.Errorf("start with live settings: %w", errors.Join(err, fileErr, storeErr))
}

func noSettings(faults ...error) error {
	if errors.Join(faults...) != nil {
		return nil
	}
	return fmt.Errorf("neither the file nor the store has any: %w", ErrNotFound)
}

// fallBack runs something else than what is wanted.
func (l *Live) fallBack(ctx context.Context, file Version) bool {
	bad := l.bad
	defer func() { l.bad = bad }() // why what is wanted does not run
	tried := map[string]bool{bad.sum: true}
	try := func(v Version) bool {
		if v.Sum == "" || tried[v.Sum] {
			return false
		}
		tried[v.Sum] = true
		return l.check(v) == nil && l.run(ctx, v, l.due(time.Now())) == nil
	}
	if try(file) {
		return true
	}
	versions, err := l.History(ctx, olderTried)
	if err != nil {
		return false
	}
	for _, v := range versions {
		if tried[v.Sum] {
			continue
		}
		if whole, err := l.Version(ctx, v.Number); err == nil && try(whole) {
			return true
		}
	}
	return false
}

// Run follows the file, the store and the clock until ctx is over. It fails
// only if it cannot begin; what goes wrong later is logged, and in the status.
// It is called once.
func (l *Live) Run(ctx context.Context) error {
	if err := l.Start(ctx); err != nil && ctx.Err() == nil {
		l.config.Log.Error("no settings are in force yet", "err", err)
	}
	var all sync.WaitGroup
	all.Go(func() { l.followStore(ctx) })
	all.Go(func() { l.followClock(ctx) })
	if l.config.Path != "" {
		all.Go(func() { l.followFile(ctx) })
	}
	all.Wait()
	return nil
}

// Reload looks at the file and the store now, as after SIGHUP, and tries again
// what was invalid or could not be applied. A store that does not answer is no error: what the
// file says runs, and is recorded later.
func (l *Live) Reload(ctx context.Context) (Result, error) {
	leave, err := l.enter(ctx)
	if err != nil {
		return Result{}, err
	}
	defer leave()
	var r Result
	var fileErr error
	l.bad.final, l.file.badSum = false, "" // what they refer to may be there now
	if l.config.Path != "" {
		r.Changed, fileErr = l.look()
	}
	l.flush(ctx)
	err = errors.Join(fileErr, l.settle(ctx, true))
	r.Version = l.running.bare()
	return r, err
}

// followClock ends overrides when their time has come, and now and then tries
// again what could not be applied.
func (l *Live) followClock(ctx context.Context) {
	end := time.NewTimer(0)
	defer end.Stop()
	again := time.NewTicker(l.config.SlowPoll)
	defer again.Stop()
	for {
		retry := false
		select {
		case <-ctx.Done():
			return
		case <-end.C:
		case <-l.expiries:
		case <-again.C:
			retry = true
		}
		leave, err := l.enter(ctx)
		if err != nil {
			return
		}
		_ = l.settle(ctx, retry) // it is logged, and in the status
		end.Reset(l.nextEnd(time.Now()))
		leave()
	}
}

// nextEnd is how long it is until an override ends.
func (l *Live) nextEnd(now time.Time) time.Duration {
	next := l.config.SlowPoll
	for _, o := range l.listed {
		if left := o.ends.Sub(now); left > 0 {
			next = min(next, left)
		}
	}
	return next
}
