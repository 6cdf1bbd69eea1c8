package probe

import (
	"context"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// Update changes the settings while Run runs. Workers that are no longer listed get no new work, finish the work they have
// (within Drain), end as planned, and leave the registry, all in the background. A worker that is listed again before that
// stays. Health applies from the next check on. Name, Registry, Conns and Log do not change. An invalid cfg changes
// nothing.
func (x *ExternalWorkers) Update(cfg Config) error {
	cfg.Name, cfg.Registry, cfg.Conns, cfg.Log = x.name, x.reg, x.conns, x.log
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf("update fleet %s: %w", x.name, err)
	}
	next := cfg.withDefaults()
	x.lookUpNew(next.addresses())
	x.mu.Lock()
	defer x.mu.Unlock()
	x.cfg.Store(&next)
	x.setWorkers(x.expand(next.addresses()))
	close(x.changed)
	x.changed = make(chan struct{})
	return nil
}

// addresses returns the names of the workers in the order of the settings.
func (c *Config) addresses() []string {
	out := make([]string, 0, len(c.Workers))
	for _, w := range c.Workers {
		if addr, err := ParseWorker(w); err == nil { // Validate has accepted it
			out = append(out, addr)
		}
	}
	return out
}

// weights returns the weights of all workers, by the names that addresses returns.
func (c *Config) weights() map[string]int {
	out := make(map[string]int, len(c.Workers))
	for _, w := range c.Workers {
		addr, err := ParseWorker(w)
		weight, ok := c.Weights[w]
		switch {
		case err != nil: // Validate has accepted it
		case ok:
			out[addr] = weight
		default:
			out[addr] = 1
		}
	}
	return out
}

// setWorkers watches exactly these workers. The caller holds mu, or is the only user of x.
func (x *ExternalWorkers) setWorkers(addresses []string) {
	x.size = len(addresses)
	x.weights = x.cfg.Load().weights()
	wanted := make(map[string]bool, len(addresses))
	for _, addr := range addresses {
		wanted[addr] = true
		if r := x.workers[addr]; r != nil {
			r.Keep()
			if x.begin != nil {
				x.reg.SetWeight(addr, x.weights[x.written(r)])
			}
			continue
		}
		r := &remote{name: addr, host: x.hosts[addr]}
		x.workers[addr] = r
		if x.begin != nil {
			x.begin(r)
		}
	}
	for addr, r := range x.workers {
		switch {
		case wanted[addr]:
		case x.begin == nil: // Run has not begun
			delete(x.workers, addr)
		default:
			r.Remove()
		}
	}
}

// written returns the worker's name in the settings. The caller holds mu.
func (x *ExternalWorkers) written(r *remote) string {
	if host, ok := x.hosts[r.name]; ok {
		return host
	}
	return r.name
}

func (x *ExternalWorkers) find(worker string) *remote {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.workers[worker]
}

// change returns a channel that is closed when settings change.
func (x *ExternalWorkers) change() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.changed
}

// drainWorker waits for a worker's work and ends its life. It reports false if the settings contain the worker again, or
// ctx has ended.
func (x *ExternalWorkers) drainWorker(ctx context.Context, r *remote) bool {
	l := r.newest()
	if l == nil {
		return true
	}
	if l.over() {
		<-l.gone
		return true
	}
	x.reg.Drain(r.name)
	goes := r.Drain(func(renewed context.Context) {
		bound, cancel := context.WithTimeout(renewed, x.cfg.Load().Drain)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		if err := x.reg.Idle(bound, r.name); err != nil && renewed.Err() == nil && ctx.Err() == nil {
			x.log.Warn("worker is removed while it has work in flight", "worker", r.name, "why", err)
		}
	})
	if !goes || ctx.Err() != nil {
		x.reg.Resume(r.name)
		return false
	}
	detail := "removed from the settings"
	if r.host != "" {
		detail = "removed: " + r.host + " no longer resolves to it, or the settings no longer contain it"
	}
	x.end(r, l, fleet.End{Planned: true, Class: bezoar.Interrupted, At: time.Now(), ExitCode: -1, Detail: detail})
	return true
}

// removeWorker removes a worker whose life has ended, unless the settings contain it again.
func (x *ExternalWorkers) removeWorker(r *remote) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !r.Removing() {
		return false
	}
	delete(x.workers, r.name)
	if err := x.reg.Remove(r.name); err != nil {
		x.log.Error("cannot remove a worker from the registry", "worker", r.name, "err", err)
	}
	x.log.Info("worker removed", "worker", r.name)
	return true
}
