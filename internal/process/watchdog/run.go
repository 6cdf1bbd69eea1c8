package watchdog

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	policy "github.com/bezoar-dev/bezoar/policy/watchdog"
)

// result is the end of a restart.
type result struct {
	decision policy.Decision
	err      error
}

// Run watches until ctx ends. It then tells a restart in progress to stop waiting, and waits for it. It can run once at a
// time.
func (d *Watchdog) Run(ctx context.Context) error {
	if !d.running.CompareAndSwap(false, true) {
		return fmt.Errorf("watchdog %s: Run is already running", d.config().Name)
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

// pause returns a random interval, so that samples do not follow the rhythm of the worker.
func (d *Watchdog) pause() time.Duration {
	i := d.config().Interval
	return i*4/5 + rand.N(i*2/5+1)
}

// tick samples all workers once and decides.
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

// finish handles the end of a restart.
func (d *Watchdog) finish(r result) {
	now := time.Now()
	d.mu.Lock()
	d.fleet.Done(now, r.decision.Worker, r.err == nil)
	cfg, status := d.cfg, d.fleet.Status()
	d.mu.Unlock()
	d.tellEnd(&cfg, now, r, status)
}
