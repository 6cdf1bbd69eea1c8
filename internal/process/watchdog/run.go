package watchdog

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	policy "github.com/bezoar-dev/bezoar/policy/watchdog"
)

// result is how a restart ended.
type result struct {
	decision policy.Decision
	err      error
}

// Run watches until ctx ends. A restart that is under way then is told to stop
// waiting, and waited for. It can run once at a time.
func (d *Watchdog) Run(ctx context.Context) error {
	if !d.running.CompareAndSwap(false, true) {
		return fmt.Errorf("watchdog %s: Run runs already", d.config().Name)
	}
	defer d.running.Store(false)
	var wg sync.WaitGroup
	defer wg.Wait()
	ended := make(chan result, 1)
	busy := false
	timer := time.NewTimer(d.pause())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			if busy {
				d.finish(<-ended)
			}
			return nil
		case r := <-ended:
			busy = false
			d.finish(r)
		case <-timer.C:
			if dec := d.tick(); dec.Action == policy.Restart {
				busy = true
				patience := d.config().Patience
				wg.Go(func() {
					rctx, cancel := context.WithTimeout(ctx, patience)
					defer cancel()
					ended <- result{dec, d.restart(rctx, dec)}
				})
			}
			timer.Reset(d.pause())
		}
	}
}

// pause spreads samples, so that they do not beat with what they measure.
func (d *Watchdog) pause() time.Duration {
	i := d.config().Interval
	return i*4/5 + rand.N(i*2/5+1)
}

// tick looks at all workers once and decides.
func (d *Watchdog) tick() policy.Decision {
	cfg := d.config()
	workers := cfg.Target.Workers()
	workers = workers[:min(len(workers), policy.MaxWorkers)]
	scene := policy.Scene{Workers: make([]policy.Worker, len(workers))}
	for i, w := range workers {
		p := policy.Worker{Name: w.Name, Life: w.Life, Up: w.Up, Serving: w.Serving}
		if w.Up.IsZero() {
			scene.Workers[i] = p
			continue
		}
		var err error
		if p.Sample, err = d.sample(w); err != nil {
			p.Unseen = true
		}
		scene.Workers[i] = p
	}
	if cfg.Held != nil {
		scene.Held = cfg.Held()
	}
	now := time.Now()
	dec, status := d.step(now, scene)
	d.tell(&cfg, now, dec, status)
	return dec
}

// finish takes the end of a restart.
func (d *Watchdog) finish(r result) {
	now := time.Now()
	d.mu.Lock()
	d.fleet.Done(now, r.decision.Worker, r.err == nil)
	cfg, status := d.cfg, d.fleet.Status()
	d.mu.Unlock()
	d.tellEnd(&cfg, now, r, status)
}
