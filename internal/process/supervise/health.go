package supervise

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/internal/process/probe"
)

// How often a starting worker is checked: at once at first, for quick starters, and later ten times per second.
const (
	readyMin = 5 * time.Millisecond
	readyMax = 100 * time.Millisecond
)

// awaitReady waits until a new life can serve. After an error the life has ended.
func (s *Supervisor) awaitReady(ctx context.Context, l *life) error {
	patience := l.cfg.Load().Health.StartTimeout
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	pctx, cancel := context.WithCancel(ctx) // a check ends with the life
	defer cancel()
	var last atomic.Pointer[probe.Result]
	go func() {
		tell := time.NewTicker(l.cfg.Load().tellAfter)
		defer tell.Stop()
		told := ""
		for {
			select {
			case <-tell.C:
				told = s.tellNotReady(l, last.Load(), told)
			case <-l.exited:
				cancel()
				return
			case <-pctx.Done():
				return
			}
		}
	}()
	for pause := readyMin; ; pause = min(2*pause, readyMax) {
		res := s.ready(pctx, l)
		last.Store(&res)
		if res.Healthy() {
			return nil
		}
		select {
		case <-time.After(pause):
			continue
		case <-l.exited:
			<-l.gone
			return fmt.Errorf("worker %s: %s%s", l.worker, l.end.Detail, saying(l.end.Stderr))
		case <-deadline.C:
			if res.Outcome == probe.Exhausted { // the check was not made
				deadline.Reset(patience)
				continue
			}
			l.kill(fmt.Sprintf("it was not ready within %v (%v)", patience, res))
			<-l.gone
			return fmt.Errorf("worker %s: %s%s", l.worker, l.end.Detail, saying(l.end.Stderr))
		case <-ctx.Done():
			l.stop("stopped while it started", s.settingsFor(l).Grace)
			return ctx.Err()
		}
	}
}

func saying(stderr []string) string {
	if said := cause(stderr); said != "" {
		return fmt.Sprintf("; it said: %.200s", said)
	}
	return ""
}

func (s *Supervisor) ready(ctx context.Context, l *life) probe.Result {
	h := s.settingsFor(l).Health
	if h.asks() {
		return h.probe().Do(ctx, l.addr)
	}
	res := probe.Open(ctx, l.addr, h.Timeout)
	if res.Outcome == probe.Answered {
		res.Status = 200
	}
	return res
}

// silentFor is how long a worker without work may give no answer at all, while it is held out for its health, before it is
// killed: otherwise it would stay out for ever. While it has work in flight, the work's own deadline applies, because a worker
// that handles one request at a time is silent meanwhile. In panic mode no worker is killed for silence: then Bezoar itself
// is the more likely cause.
const silentFor = 30 * time.Second

// watch checks the health of a life until the returned function is called or the life ends. A worker that fails three
// checks in a row is reported as unhealthy until it gives two good answers in a row.
func (v *healthLoop) watch() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.run(ctx)
	}()
	return sync.OnceFunc(func() { cancel(); <-done })
}

// healthLoop checks the health of one life.
type healthLoop struct {
	w       *slot
	l       *life
	opinion probe.Debouncer
	told    bool      // the registry knows that it is unhealthy
	out     bool      // it is held out because of that
	silent  time.Time // since when it has given no answer at all; zero: it answered
}

func (v *healthLoop) run(ctx context.Context) {
	t := time.NewTimer(time.Hour)
	defer t.Stop()
	var h Health // the settings for which t was set
	for {
		changed := v.w.s.change()
		if now := v.w.s.settingsFor(v.l).Health; now != h {
			h = now
			v.arm(t, h)
		}
		select {
		case <-t.C:
		case <-changed:
			continue
		case <-ctx.Done():
			return
		case <-v.l.exited:
			return
		}
		res := h.probe().Do(ctx, v.l.addr)
		if ctx.Err() != nil {
			return
		}
		if res.Outcome == probe.Exhausted { // the check was not made
			v.arm(t, h)
			continue
		}
		v.see(res, time.Now())
		v.arm(t, h)
	}
}

// arm sets t for the next check. Without a path there is none, and the worker counts as healthy.
func (v *healthLoop) arm(t *time.Timer, h Health) {
	if h.asks() {
		t.Reset(h.Interval*4/5 + rand.N(h.Interval*2/5+1))
		return
	}
	t.Stop()
	v.opinion, v.silent = probe.Debouncer{}, time.Time{}
	v.l.announced.Store(false)
	v.clear()
}

// clear reports the worker as healthy if it was reported as unhealthy.
func (v *healthLoop) clear() {
	if !v.told {
		return
	}
	was := v.out
	v.told, v.out = false, false
	v.w.s.log.Info("worker is healthy again", "worker", v.w.name)
	v.w.s.reg.Well(v.w.name, v.l.epoch())
	if was {
		v.w.enter(Ready, v.l)
	}
}

// see handles one check.
func (v *healthLoop) see(res probe.Result, now time.Time) {
	s := v.w.s
	answered := res.Outcome == probe.Answered
	if answered {
		v.l.announced.Store(!res.Healthy()) // no answer does not revoke the announcement
	}
	switch {
	case answered:
		v.silent = time.Time{}
	case v.silent.IsZero():
		v.silent = now
	}
	was := v.out
	if v.opinion.Add(res) {
		v.out = s.reg.Sick(v.w.name, v.l.epoch(), res.String())
		if !v.told || v.out != was {
			s.log.Warn("worker looks unhealthy", "worker", v.w.name, "why", res, "held_out", v.out)
		}
		v.told = true
	} else {
		v.clear()
		return
	}
	switch {
	case v.out && !was:
		v.w.enter(Draining, v.l)
	case was && !v.out:
		v.w.enter(Ready, v.l)
	case v.out && !v.silent.IsZero() && now.Sub(v.silent) >= silentFor && v.w.idle():
		v.l.kill(fmt.Sprintf("no answer to its health check for %v", silentFor))
	}
}

// idle reports whether the worker has no work in flight.
func (w *slot) idle() bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // do not wait
	return w.s.reg.Idle(ctx, w.name) == nil
}
