package probe

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// ExternalWorkers checks the health of workers that Bezoar does not start itself. Create it with [New]. Its methods may be
// called from several goroutines.
type ExternalWorkers struct {
	name  string
	reg   Registry
	conns func(worker string, epoch uint64) (alive, broken int)
	log   *slog.Logger
	cfg   atomic.Pointer[Config]

	lookup lookupFunc

	mu      sync.Mutex           // guards the fields below
	workers map[string]*remote   // by name
	begin   func(*remote)        // set while Run runs
	changed chan struct{}        // closed and replaced when cfg changes
	size    int                  // wanted workers
	names   map[string]*resolved // by host:port as in the settings
	hosts   map[string]string    // host:port as in the settings, by the address of the worker
	weights map[string]int       // of all workers, by host:port as in the settings
}

var _ fleet.Keeper = (*ExternalWorkers)(nil)

// New returns ExternalWorkers that has not checked any worker yet.
func New(cfg Config) (*ExternalWorkers, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("fleet %s: %w", cfg.Name, err)
	}
	cfg = cfg.withDefaults()
	x := &ExternalWorkers{
		name: cfg.Name, reg: cfg.Registry, conns: cfg.Conns, log: cfg.Log.With("fleet", cfg.Name),
		workers: make(map[string]*remote, len(cfg.Workers)), changed: make(chan struct{}),
		names: map[string]*resolved{}, lookup: cfg.lookup,
	}
	x.cfg.Store(&cfg)
	x.lookUpNew(cfg.addresses())
	x.setWorkers(x.expand(cfg.addresses()))
	return x, nil
}

// Run watches the workers until ctx ends. It checks workers that are down until they answer. When Run returns, workers that
// are up stay up in the registry.
func (x *ExternalWorkers) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	x.mu.Lock()
	x.begin = func(r *remote) {
		r.Begin(ctx)
		x.reg.Add(r.name)
		x.reg.SetWeight(r.name, x.weights[x.written(r)])
		wg.Go(func() { x.watch(ctx, r) })
	}
	for _, addr := range x.expand(x.cfg.Load().addresses()) { // in the order of the settings
		x.begin(x.workers[addr])
	}
	x.mu.Unlock()
	x.followNames(ctx)
	x.mu.Lock()
	x.begin = func(*remote) {} // new workers are not watched any more
	x.mu.Unlock()
	wg.Wait()
	return nil
}

// How often a worker that is down is checked: often at first, because most restarts take seconds, and later once per
// second.
const (
	eagerMin = 100 * time.Millisecond
	eagerMax = 250 * time.Millisecond
	eagerFor = time.Minute
)

func (x *ExternalWorkers) watch(ctx context.Context, r *remote) {
	for ctx.Err() == nil {
		active := r.Context()
		switch {
		case active.Err() == nil:
			if r.current() != nil || x.watchDown(active, r) {
				x.watchUp(active, r)
			}
		case r.Removing() && x.drainWorker(ctx, r) && x.removeWorker(r):
			return
		}
	}
}

// watchDown checks a worker that is down until it is ready, and then reports it as up.
func (x *ExternalWorkers) watchDown(ctx context.Context, r *remote) bool {
	began, told := time.Now(), r.newest() != nil
	for {
		inodes := listeners(r.name)
		res := x.ready(ctx, r)
		if ctx.Err() != nil {
			return false
		}
		if res.Healthy() {
			// The socket must be the same before and after the check: otherwise the answer may have come from the process
			// before.
			if now := listeners(r.name); !replaced(inodes, now) {
				x.up(r, now)
				return true
			}
		}
		if !told && time.Since(began) >= x.cfg.Load().tellAfter {
			told = true
			x.log.Warn("worker is not up: nothing is sent to it until it answers", "worker", r.name, "why", whyDown(r.name, res))
		}
		wait := eagerMin + rand.N(eagerMax-eagerMin)
		if time.Since(began) > eagerFor {
			wait = jitter(time.Second)
		}
		if !sleep(ctx, nil, wait) {
			return false
		}
	}
}

// tellAfter is how long Run waits before it logs that a new worker is not up.
const tellAfter = 1500 * time.Millisecond

// whyDown describes the result of a check of a worker that is down, and names other addresses of this machine with a
// listener on its port.
func whyDown(addr string, res Result) string {
	why := res.String()
	if res.Err != nil {
		why = res.Err.Error()
	}
	_, at := place(addr)
	host, portText, err := net.SplitHostPort(at)
	port, bad := strconv.ParseUint(portText, 10, 16)
	if err != nil || bad != nil || res.Outcome != Refused || !isLoopback(host) {
		return why
	}
	if found := ListeningOn(uint16(port)); len(found) > 0 {
		return why + ": on this port a process listens at " + Places(found) + " only"
	}
	return why + ": no process listens on this port"
}

// ready checks whether a worker that is down can serve. A worker that hung must answer a request: its port stayed open all
// the time.
func (x *ExternalWorkers) ready(ctx context.Context, r *remote) Result {
	p := x.probeOf(r)
	switch {
	case p.asks():
		return p.Do(ctx, r.name)
	case r.hung():
		return anyAnswer(p.Do(ctx, r.name))
	}
	return anyAnswer(p.open(ctx, r.name))
}

// anyAnswer treats every answer as a good one.
func anyAnswer(res Result) Result {
	if res.Outcome == Answered {
		res.Status = 200
	}
	return res
}

func (x *ExternalWorkers) up(r *remote, inodes []uint64) {
	l := r.begin(inodes)
	epoch := x.reg.Up(r.name, r.name)
	l.opened(epoch)
	x.log.Info("worker up", "worker", r.name, "epoch", epoch)
}

// end ends l exactly once, even if several goroutines call it, and returns when it has ended.
func (x *ExternalWorkers) end(r *remote, l *span, end fleet.End) {
	if !r.close(l, end.Class) {
		<-l.gone
		return
	}
	if l.announced.Load() {
		end = announcedEnd(end)
	}
	x.reg.Down(r.name, l.epoch, end)
	x.log.Info("worker down", "worker", r.name, "epoch", l.epoch,
		"class", end.Class, "planned", end.Planned, "detail", end.Detail)
	close(l.gone)
}

// watchUp checks a worker that is up once per interval, until its end.
func (x *ExternalWorkers) watchUp(ctx context.Context, r *remote) {
	l := r.current()
	for l != nil && x.pause(ctx, l) {
		if x.conns != nil {
			x.conns(r.name, l.epoch) // servers close idle connections: make the count that Check reads fresh
		}
		if replaced(l.inodes, listeners(r.name)) {
			x.portLost(ctx, r, l, "another process listens on its port")
			continue
		}
		x.look(ctx, r, l, &l.opinion)
	}
}

// pause waits until the next check of l, and follows changes of the interval. It reports false when there is none.
func (x *ExternalWorkers) pause(ctx context.Context, l *span) bool {
	t := time.NewTimer(time.Hour)
	defer t.Stop()
	var h Health // the settings for which t was set
	for {
		changed := x.change()
		if now := x.cfg.Load().Health; now != h {
			h = now
			t.Reset(jitter(h.Interval))
		}
		select {
		case <-t.C:
			return ctx.Err() == nil
		case <-changed:
		case <-ctx.Done():
			return false
		case <-l.gone:
			return false
		}
	}
}

// reportedHealth is the health of one life as last reported to the registry.
type reportedHealth struct {
	Debouncer

	told, out bool // whether it was reported as unhealthy; whether the registry then kept work away
}

// look checks a worker that is up once.
func (x *ExternalWorkers) look(ctx context.Context, r *remote, l *span, w *reportedHealth) {
	res := x.ask(ctx, r, l)
	if ctx.Err() != nil || l.over() || res.Outcome == Exhausted {
		return
	}
	if res.Outcome == Refused {
		x.portLost(ctx, r, l, "connection refused")
		return
	}
	sick := w.Add(res)
	// A worker that itself says that it is not ready needs no further check.
	announced := res.Outcome == Answered && !res.Healthy()
	if res.Outcome == Answered {
		l.announced.Store(announced) // no answer does not revoke the announcement
	}
	if announced {
		w.MarkSick()
		sick = true
	}
	x.tell(r, l, w, sick, res)
}

// tell reports the worker's health to the registry, and logs changes.
func (x *ExternalWorkers) tell(r *remote, l *span, w *reportedHealth, sick bool, res Result) {
	if !sick {
		if w.told {
			w.told, w.out = false, false
			x.log.Info("worker is healthy again", "worker", r.name)
			x.reg.Well(r.name, l.epoch)
		}
		return
	}
	out := x.reg.Sick(r.name, l.epoch, res.String())
	if !w.told || out != w.out {
		x.log.Warn("worker looks unhealthy", "worker", r.name, "why", res, "held_out", out)
	}
	w.told, w.out = true, out
}

func (x *ExternalWorkers) ask(ctx context.Context, r *remote, l *span) Result {
	p := x.probeOf(r)
	if p.asks() {
		return p.Do(ctx, r.name)
	}
	if len(l.inodes) > 0 && len(listeners(r.name)) > 0 {
		return Result{Outcome: Answered, Status: 200} // seen in the kernel's tables, without a request to the worker
	}
	return anyAnswer(p.open(ctx, r.name))
}

// The bounds of portLost.
const (
	breakSettle  = 500 * time.Millisecond // until users of a crashed worker's connections have reported them
	orderlyBound = 30 * time.Second       // for a stopping worker to finish its work
)

// portLost handles a port that the worker has lost. If the worker crashed, its connections broke too, and their users call
// Check. If its work continues, the worker is shutting down: the work may finish, and the end is planned.
func (x *ExternalWorkers) portLost(ctx context.Context, r *remote, l *span, why string) {
	x.reg.Drain(r.name)
	// Work in flight that does not break within breakSettle will finish.
	busy := x.busy(ctx, r)
	if !sleep(ctx, l.gone, breakSettle) {
		return
	}
	if why := x.lost(ctx, r, l); why == "" { // it was a moment's weakness
		x.reg.Resume(r.name)
		return
	}
	if busy || x.busy(ctx, r) {
		l.announced.Store(true)
		x.log.Info("worker stops", "worker", r.name, "why", why)
		bound, cancel := context.WithTimeout(ctx, orderlyBound)
		defer cancel()
		_ = x.reg.Idle(bound, r.name) // unfinished work is cut off then
		if ctx.Err() != nil {
			return
		}
	}
	x.end(r, l, crash(why))
}

// busy reports whether the worker has work in flight.
func (x *ExternalWorkers) busy(ctx context.Context, r *remote) bool {
	now, cancel := context.WithCancel(ctx)
	cancel()
	return x.reg.Idle(now, r.name) != nil
}

// lost returns why the worker has lost its port, or "".
func (x *ExternalWorkers) lost(ctx context.Context, r *remote, l *span) string {
	if replaced(l.inodes, listeners(r.name)) {
		return "another process listens on its port"
	}
	if Open(ctx, r.name, dialPatience).Outcome == Refused {
		return "connection refused"
	}
	return ""
}

// jitter varies d by ±20 %, so that the workers of a fleet are not checked at the same time.
func jitter(d time.Duration) time.Duration {
	return d*4/5 + rand.N(d*2/5+1)
}

// sleep waits for d. It reports false when ctx or stop ended first.
func sleep(ctx context.Context, stop <-chan struct{}, d time.Duration) bool {
	select {
	case <-time.After(d):
		return ctx.Err() == nil
	case <-ctx.Done():
	case <-stop:
	}
	return false
}
