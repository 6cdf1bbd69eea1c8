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

// ExternalWorkers checks the health of workers that somebody else starts. Create it with [New].
type ExternalWorkers struct {
	name  string
	reg   Registry
	conns func(worker string, epoch uint64) (alive, broken int)
	log   *slog.Logger
	cfg   atomic.Pointer[Config]

	lookup lookupFunc

	mu      sync.Mutex           // guards what follows
	workers map[string]*remote   // by name
	begin   func(*remote)        // while Run runs
	changed chan struct{}        // closed and replaced when cfg changes
	size    int                  // of them that are wanted
	names   map[string]*resolved // by host:port as written
	hosts   map[string]string    // host:port as written, by the address that is a worker of it
	weights map[string]int       // by host:port as written; of all
}

var _ fleet.Keeper = (*ExternalWorkers)(nil)

// New returns ExternalWorkers that have not looked at anything yet.
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

// Run watches the workers until ctx ends. Workers that are down are asked until
// they answer. What is up stays up when Run returns: nobody knows better.
func (x *ExternalWorkers) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	x.mu.Lock()
	x.begin = func(r *remote) {
		r.Begin(ctx)
		x.reg.Add(r.name)
		x.reg.SetWeight(r.name, x.weights[x.written(r)])
		wg.Go(func() { x.watch(ctx, r) })
	}
	for _, addr := range x.expand(x.cfg.Load().addresses()) { // in the order written
		x.begin(x.workers[addr])
	}
	x.mu.Unlock()
	x.followNames(ctx)
	x.mu.Lock()
	x.begin = func(*remote) {} // nobody is watched from here on
	x.mu.Unlock()
	wg.Wait()
	return nil
}

// How often a worker that is down is asked: eagerly at first, because most
// restarts take seconds, and once per second when it stays away.
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

// watchDown looks at a worker that is down until it is ready, and brings it up.
func (x *ExternalWorkers) watchDown(ctx context.Context, r *remote) bool {
	began, told := time.Now(), r.newest() != nil
	for {
		inodes := listeners(r.name)
		res := x.ready(ctx, r)
		if ctx.Err() != nil {
			return false
		}
		if res.Healthy() {
			// The socket must be the same before and after the look: else the
			// answer came from a life that is over.
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

// tellAfter is how long a worker that was never up is silently asked again.
const tellAfter = 1500 * time.Millisecond

// whyDown says what a look at a worker that is down has found, and where else on
// this machine somebody listens on its port.
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

// ready asks a worker that is down whether it can serve. One that was hanging
// must answer a request; its port was open all along.
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

// anyAnswer takes any answer for a good one.
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

// end ends l once, whoever comes first, and returns when it has ended.
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

// watchUp looks at a worker that is up, once per interval, until it ends.
func (x *ExternalWorkers) watchUp(ctx context.Context, r *remote) {
	l := r.current()
	for l != nil && x.pause(ctx, l) {
		if x.conns != nil {
			x.conns(r.name, l.epoch) // so that what Check counts is fresh: servers close idle connections
		}
		if replaced(l.inodes, listeners(r.name)) {
			x.portLost(ctx, r, l, "another process listens on its port")
			continue
		}
		x.look(ctx, r, l, &l.opinion)
	}
}

// pause waits for the next look at l, as long as the settings say now. It reports
// false when there is none.
func (x *ExternalWorkers) pause(ctx context.Context, l *span) bool {
	t := time.NewTimer(time.Hour)
	defer t.Stop()
	var h Health // that t was set for
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

// reportedHealth is what the registry has been told of one life.
type reportedHealth struct {
	Debouncer

	told, out bool // that it is sick; and whether that holds it out
}

// look takes one look at a worker that is up.
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
	// A worker that says itself that it is not ready needs no second opinion.
	announced := res.Outcome == Answered && !res.Healthy()
	if res.Outcome == Answered {
		l.announced.Store(announced) // silence takes back nothing
	}
	if announced {
		w.MarkSick()
		sick = true
	}
	x.tell(r, l, w, sick, res)
}

// tell tells the registry what the worker looks like, and the log when that
// changes.
func (x *ExternalWorkers) tell(r *remote, l *span, w *reportedHealth, sick bool, res Result) {
	if !sick {
		if w.told {
			w.told, w.out = false, false
			x.log.Info("worker well again", "worker", r.name)
			x.reg.Well(r.name, l.epoch)
		}
		return
	}
	out := x.reg.Sick(r.name, l.epoch, res.String())
	if !w.told || out != w.out {
		x.log.Warn("worker looks sick", "worker", r.name, "why", res, "held_out", out)
	}
	w.told, w.out = true, out
}

func (x *ExternalWorkers) ask(ctx context.Context, r *remote, l *span) Result {
	p := x.probeOf(r)
	if p.asks() {
		return p.Do(ctx, r.name)
	}
	if len(l.inodes) > 0 && len(listeners(r.name)) > 0 {
		return Result{Outcome: Answered, Status: 200} // seen without bothering it
	}
	return anyAnswer(p.open(ctx, r.name))
}

// The bounds of portLost.
const (
	breakSettle  = 500 * time.Millisecond // for the connections of a crashed worker to be reported
	orderlyBound = 30 * time.Second       // for a worker that stops to finish its work
)

// portLost deals with a port that is no longer the worker's. If it crashed, its
// connections broke too, and Check learns of it from whoever used them. If its
// work goes on nevertheless, it is stopping in an orderly way: the work may
// finish, and the end is planned.
func (x *ExternalWorkers) portLost(ctx context.Context, r *remote, l *span, why string) {
	x.reg.Drain(r.name)
	// Work that was in flight and does not break within breakSettle ends well.
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
		_ = x.reg.Idle(bound, r.name) // what is not done by then is cut off
		if ctx.Err() != nil {
			return
		}
	}
	x.end(r, l, crash(why))
}

// busy reports whether work is in flight on a worker now.
func (x *ExternalWorkers) busy(ctx context.Context, r *remote) bool {
	now, cancel := context.WithCancel(ctx)
	cancel()
	return x.reg.Idle(now, r.name) != nil
}

// lost says why a port is not the worker's any more; "" when it is.
func (x *ExternalWorkers) lost(ctx context.Context, r *remote, l *span) string {
	if replaced(l.inodes, listeners(r.name)) {
		return "another process listens on its port"
	}
	if Open(ctx, r.name, dialPatience).Outcome == Refused {
		return "connection refused"
	}
	return ""
}

// jitter spreads d by ±20 %, so that a fleet is not asked in step.
func jitter(d time.Duration) time.Duration {
	return d*4/5 + rand.N(d*2/5+1)
}

// sleep waits for d. It reports false when ctx or stop ended first.
func sleep(ctx context.Context, stop <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
	case <-stop:
	}
	return false
}
