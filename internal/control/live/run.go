package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// olderTried is the number of older versions that Start tries.
const olderTried = 10

// Start reads the file and the store, and applies the wanted settings. If they cannot run,
// Start tries the file's content and then older versions, newest first; the log and the
// status show that. Start returns an error if nothing runs. Run calls it unless something
// runs already.
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
	storeErr := l.refresh(ctx) // first, because a named file may exist in a version only
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
	if err == nil { // there are no settings
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
	return fmt.Errorf("neither the file nor the store has settings: %w", ErrNotFound)
}

// fallBack runs other settings than the wanted ones.
func (l *Live) fallBack(ctx context.Context, file Version) bool {
	bad := l.bad
	defer func() { l.bad = bad }() // keep the reason why the wanted version does not run
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

// Run follows the file, the store and the clock until ctx ends. It returns an error only if
// it cannot start; later errors are logged, and shown in the status. It may be called once.
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

// Reload reads the file and the store now, as on SIGHUP, and retries settings that were
// invalid or could not be applied. A store that does not answer is not an error: the file's
// content runs, and is recorded later.
func (l *Live) Reload(ctx context.Context) (Result, error) {
	leave, err := l.enter(ctx)
	if err != nil {
		return Result{}, err
	}
	defer leave()
	var r Result
	var fileErr error
	l.bad.final, l.file.badSum = false, "" // files that they refer to may exist now
	if l.config.Path != "" {
		r.Changed, fileErr = l.look()
	}
	l.flush(ctx)
	err = errors.Join(fileErr, l.settle(ctx, true))
	r.Version = l.running.bare()
	return r, err
}

// followClock ends overrides at their time, and repeats failed calls of Apply now and then.
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
		_ = l.settle(ctx, retry) // settle logs the error, and the status shows it
		end.Reset(l.nextEnd(time.Now()))
		leave()
	}
}

// nextEnd returns the time until the next override ends.
func (l *Live) nextEnd(now time.Time) time.Duration {
	next := l.config.SlowPoll
	for _, o := range l.listed {
		if left := o.ends.Sub(now); left > 0 {
			next = min(next, left)
		}
	}
	return next
}
