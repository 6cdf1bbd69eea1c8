package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"sync"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/queue/push"
	"github.com/bezoar-dev/bezoar/internal/triage/alarm"
	"github.com/bezoar-dev/bezoar/internal/triage/tell"
)

// services are made from the settings, and a reload replaces each of them separately.
type services struct {
	ctx    context.Context //nolint:containedctx // the lifetime of its services
	failed func(what string, err error) error

	mu   sync.Mutex // guards what follows; never held while waiting
	runs map[string]*service
	errs []error
}

type service struct {
	of   any // the settings that it was made from
	stop context.CancelFunc
	done chan struct{}
}

func (s *services) start(ctx context.Context, failed func(string, error) error) {
	s.ctx, s.failed, s.runs = ctx, failed, map[string]*service{}
}

// same reports whether the service runs with these settings.
func (s *services) same(name string, of any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[name]
	return r != nil && reflect.DeepEqual(r.of, of)
}

// run starts a service after the old one with that name has ended.
func (s *services) run(name string, of any, f func(context.Context) error) {
	s.end(name)
	ctx, stop := context.WithCancel(s.ctx)
	r := &service{of: of, stop: stop, done: make(chan struct{})}
	s.mu.Lock()
	s.runs[name] = r
	s.mu.Unlock()
	go func() {
		defer close(r.done)
		if err := f(ctx); err != nil {
			s.mu.Lock()
			s.errs = append(s.errs, s.failed(name, err))
			s.mu.Unlock()
		}
	}()
}

// end stops a service and waits for it.
func (s *services) end(name string) {
	s.mu.Lock()
	r := s.runs[name]
	delete(s.runs, name)
	s.mu.Unlock()
	if r != nil {
		r.stop()
		<-r.done
	}
}

func (s *services) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.runs))
}

// stop ends all of them at the same time.
func (s *services) stop() error {
	var wg sync.WaitGroup
	for _, name := range s.names() {
		wg.Go(func() { s.end(name) })
	}
	wg.Wait()
	return errors.Join(s.errs...)
}

// checkOuter returns why alarms or pushers cannot be made from cfg.
func (a *App) checkOuter(cfg *config.Config) error {
	_, err := alarmRules(cfg.Alarms)
	errs := []error{err}
	for _, name := range slices.Sorted(maps.Keys(cfg.Queues)) {
		if c := cfg.Queues[name].Push; c != nil {
			_, err := a.pusher(name, c)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (a *App) pusher(name string, c *config.Push) (*push.Pusher, error) {
	p, err := push.New(push.Config{Queue: a.queues, Name: name, URL: c.URL, Concurrency: c.Concurrency, Timeout: c.Timeout, Log: a.log})
	if err != nil {
		return nil, fmt.Errorf("queues.%s.push: %w", name, err)
	}
	return p, nil
}

// replaceAlarms starts and stops alarms to match p.
func (a *App) replaceAlarms(p *present) error {
	if a.outer.same("alarms", p.cfg.Alarms) {
		return nil
	}
	if len(p.cfg.Alarms) == 0 {
		a.outer.end("alarms")
		a.alarms.Store(nil)
		return nil
	}
	rules, err := alarmRules(p.cfg.Alarms)
	if err != nil {
		return err
	}
	alarms, err := alarm.New(alarm.Config{
		Rules: rules, Letters: a.triage, Environ: os.Environ(), Secrets: p.cfg.SecretVariables(), Log: a.log,
		Every: a.opt.Alarms.Every, Now: a.opt.Alarms.Now,
	})
	if err != nil {
		return err
	}
	a.outer.run("alarms", p.cfg.Alarms, alarms.Run)
	a.alarms.Store(alarms)
	return nil
}

func alarmRules(in map[string]config.Alarm) ([]alarm.Rule, error) {
	var rules []alarm.Rule
	for _, name := range slices.Sorted(maps.Keys(in)) {
		a := in[name]
		r := alarm.Rule{Name: name, Queue: a.Queue, Repeat: a.Repeat, Webhook: a.Webhook, Command: a.Command}
		switch {
		case a.DepthAbove >= 0:
			r.Kind, r.Above = alarm.Depth, int64(a.DepthAbove)
		case a.OldestAbove > 0:
			r.Kind, r.Age = alarm.Oldest, a.OldestAbove
		case a.RateAbove > 0:
			r.Kind, r.Above = alarm.Rate, int64(a.RateAbove)
		default:
			r.Kind = alarm.Redrive
		}
		if a.SecretEnv != "" {
			if r.Secret = tell.Secret(os.Getenv(a.SecretEnv)); r.Secret == "" {
				return nil, fmt.Errorf("alarms.%s.secret_env: the environment has no %s", name, a.SecretEnv)
			}
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// replacePushes starts and stops pushers to HTTP servers to match p.
func (a *App) replacePushes(p *present) error {
	wanted := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(p.cfg.Queues)) {
		c := p.cfg.Queues[name].Push
		if c == nil {
			continue
		}
		service := "push " + name
		wanted[service] = true
		if a.fronts.same(service, *c) {
			continue
		}
		pusher, err := a.pusher(name, c)
		if err != nil {
			return err
		}
		a.fronts.run(service, *c, pusher.Run)
	}
	for _, service := range a.fronts.names() {
		if !wanted[service] {
			a.fronts.end(service)
		}
	}
	return nil
}
