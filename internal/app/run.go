package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Run serves until ctx ends or a part fails, and returns when everything has
// stopped. Call it once.
func (a *App) Run(ctx context.Context) error {
	defer a.close()
	p := a.now.Load()
	if err := a.load(ctx, p.units); err != nil {
		return err
	}
	a.base = context.WithoutCancel(ctx)
	front, stopFront := context.WithCancel(ctx)
	defer stopFront()
	defer context.AfterFunc(front, a.health.Drain)() // before requests in flight have ended
	defer context.AfterFunc(front, a.hurry)()
	a.life = front
	// A part that fails ends the front, and with it everything.
	a.failed = func(what string, err error) error {
		stopFront()
		return fmt.Errorf("%s: %w", what, err)
	}
	failed, base := a.failed, a.base
	var inner, outer stage
	inner.start(base)
	outer.start(base)
	for _, u := range p.units {
		u.start(base, failed)
	}
	if a.admin != nil {
		outer.run("admin", func(ctx context.Context) error { return a.admin.Serve(ctx, a.adminLn) }, failed)
	}
	outer.run("restarts", a.restarts, failed)
	outer.run("last run", a.run.Run, failed)
	inner.run("queues", a.queues.Run, failed)
	inner.run("accusations", a.accusations, failed)
	outer.run("triage", a.triage.Run, failed)
	a.observability.run(&inner, failed)
	inner.run("quotas", a.protect.limiter.Run, failed)
	inner.run("circuits", a.protect.circuits.Run, failed)
	inner.run("health", a.health.Run, failed)
	inner.run("guards", a.tendGuards, failed)
	a.outer.start(base, failed)
	a.fronts.start(front, failed)
	a.relays.start(front, failed)
	if err := errors.Join(a.replaceAlarms(p), a.replacePushes(p), a.replacePolls(), a.replaceOutboxes(p)); err != nil {
		stopFront()
		return errors.Join(err, a.stop(p.units, nil, &inner, &outer))
	}
	var fronts stage
	fronts.start(front)
	if a.sqs != nil {
		fronts.run("sqs", func(ctx context.Context) error { return a.sqs.Serve(ctx, a.sqsLn) }, failed)
	}
	if a.flows != nil {
		fronts.run("flows", a.flows.Run, failed)
	}
	if a.live != nil {
		fronts.run("settings", a.live.Run, failed)
	}
	a.setReady(nil)
	for i, s := range a.more {
		fronts.run(fmt.Sprintf("listeners[%d]", i), s.Run, failed)
	}
	if a.plain != nil {
		fronts.run("redirect", a.plain.Run, failed)
	}
	fronts.run("leave", a.leave, failed)
	if a.opt.Started != nil {
		a.opt.Started(a)
	}
	var err error
	if a.awaitWorkers(front) {
		a.relieve()
		fronts.run("handover", func(ctx context.Context) error { return a.offer(ctx, stopFront) }, failed)
		err = a.serveFront(front)
	} // otherwise callers wait for the next process
	stopFront()
	a.setReady(errStops) // nothing begins in the background from here on
	a.background.Wait()
	return errors.Join(err, a.stop(a.now.Load().units, &fronts, &inner, &outer))
}

// leave waits until Bezoar is about to stop, and then sends callers elsewhere: readiness fails, and connections end with
// the next answer. Callers that still come are served as before.
func (a *App) leave(ctx context.Context) error {
	select {
	case <-a.opt.Leave:
	case <-ctx.Done():
		return nil
	}
	a.health.Drain()
	a.setReady(errStops)
	if a.front != nil {
		a.front.Leave()
	}
	for _, s := range a.more {
		s.Leave()
	}
	if a.sqs != nil {
		a.sqs.Leave()
	}
	a.log.Info("will stop: /readyz says 503 from now on")
	return nil
}

// hurry makes no caller wait longer than stopping takes.
func (a *App) hurry() {
	for _, u := range a.now.Load().units {
		u.doer.Hurry()
	}
}

// errStops is why Bezoar is not ready while it stops.
var errStops = errors.New("stopping")

// stop stops everything in order.
func (a *App) stop(units []*unit, fronts, inner, outer *stage) error {
	var err error
	if fronts != nil {
		err = fronts.stop()
		a.reloading.Lock() // another front may have begun to change settings
		units = a.now.Load().units
		a.reloading.Unlock()
	}
	err = errors.Join(err, a.fronts.stop(), a.relays.stop())
	err = errors.Join(err, stopAll(units, func(u *unit) error { return u.workers.stop() }))
	err = errors.Join(err, stopAll(units, func(u *unit) error { return u.inner.stop() }))
	return errors.Join(err, inner.stop(), a.outer.stop(), outer.stop())
}

// stopAll stops a part of each fleet, all at once.
func stopAll(units []*unit, stop func(*unit) error) error {
	errs := make([]error, len(units))
	var wg sync.WaitGroup
	for i, u := range units {
		wg.Go(func() { errs[i] = stop(u) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// serveFront serves callers until ctx ends.
func (a *App) serveFront(ctx context.Context) error {
	if a.front == nil {
		<-ctx.Done()
		return nil
	}
	return a.front.Run(ctx)
}

// stage is a set of services that stop together.
type stage struct {
	ctx    context.Context //nolint:containedctx // a stage is the lifetime of its services
	cancel context.CancelFunc
	wg     sync.WaitGroup
	mu     sync.Mutex // guards errs
	errs   []error
}

func (s *stage) start(parent context.Context) { s.ctx, s.cancel = context.WithCancel(parent) }

func (s *stage) run(what string, f func(context.Context) error, failed func(string, error) error) {
	s.wg.Go(func() {
		if err := f(s.ctx); err != nil {
			s.mu.Lock()
			s.errs = append(s.errs, failed(what, err))
			s.mu.Unlock()
		}
	})
}

func (s *stage) stop() error {
	if s.cancel == nil {
		return nil // it was never started
	}
	s.cancel()
	s.wg.Wait()
	return errors.Join(s.errs...)
}
