package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/gateway"
	"github.com/bezoar-dev/bezoar/internal/gateway/certs"
	"github.com/bezoar-dev/bezoar/internal/process/probe"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
	"github.com/bezoar-dev/bezoar/internal/process/supervise"
	"github.com/bezoar-dev/bezoar/internal/state/journal"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// unit is one fleet with everything that belongs to it.
type unit struct {
	name     string
	cfg      atomic.Pointer[config.Fleet]
	fleet    *fleet.Fleet
	ledger   *ledger.Ledger
	doer     *dispatch.Dispatcher
	keeper   keeper
	super    *supervise.Supervisor        // nil if Bezoar does not start the workers
	prober   *probe.ExternalWorkers       // nil if Bezoar starts them
	watchdog *fleetWatchdog               // nil if Bezoar does not start the workers
	known    *redact.Values               // secrets of requests in flight; nil if Bezoar does not start the workers
	flight   []ledger.Record              // in flight at the death of the process that wrote the journal
	wrote    uint64                       // which run wrote the journal
	trust    atomic.Pointer[certs.Client] // verifies workers with TLS that run elsewhere
	looked   func()                       // called when a worker has ended
	closer   io.Closer                    // the journal; nil: none
	rules    atomic.Pointer[map[string]*blame.Rule]

	restarting atomic.Bool  // a rolling restart is under way
	due        atomic.Bool  // there are settings that this restart may not have given to all
	stopped    atomic.Int64 // rolling restarts that have stopped

	inner, workers stage // its services; workers stop first
}

// keeper keeps a fleet's workers.
type keeper interface {
	fleet.Keeper
	Run(ctx context.Context) error
}

// newUnit builds a fleet. rules are those of its routes, by route name. If it returns an error, the unit must be closed as
// well.
func (a *App) newUnit(name string, cfg config.Fleet, rules map[string]*blame.Rule) (*unit, error) {
	u := &unit{name: name, looked: a.run.Look}
	u.cfg.Store(&cfg)
	u.rules.Store(&rules)
	if err := u.openLedger(a); err != nil {
		return u, err
	}
	fc := tuned(&cfg)
	fc.Name, fc.Ended = name, u.ended
	fc.Connect = u.connect
	fc.Judged = func(j fleet.Judgement) { a.judged(name, j) }
	fc.Opened = func(epoch uint64, _ string) { u.ledger.Opened(epoch) }
	var err error
	if u.fleet, err = fleet.New(fc); err != nil {
		return u, err
	}
	if u.doer, err = dispatch.New(dispatch.Config{Fleet: u.fleet, Ledger: u.ledger}); err != nil {
		return u, err
	}
	if err := u.openKeeper(a.opt, a.log); err != nil {
		return u, err
	}
	u.fleet.Keep(u.keeper)
	u.ledger.SetFleet(u.size())
	return u, u.openWatchdog(a)
}

// connect makes the gateway's state for one life of a worker.
func (u *unit) connect(addr string) any {
	cfg := u.cfg.Load()
	up := gateway.Upstream{Fields: cfg.AnswerFields, HTTP2: cfg.HTTP2}
	if u.prober != nil {
		up.Dial = u.prober.Dial
	}
	return up.Connect(addr)
}

func (u *unit) size() int {
	cfg := u.cfg.Load()
	if u.prober != nil {
		return u.prober.Size() // a name may have many addresses
	}
	return max(len(cfg.Workers), cfg.Replicas)
}

// named returns the number of workers if names have more addresses than there are names; otherwise 0.
func (u *unit) named() int {
	if n := u.size(); u.prober != nil && n > len(u.cfg.Load().Workers) {
		return n
	}
	return 0
}

func (u *unit) openLedger(a *App) error {
	cfg := ledger.Config{
		Fleet: u.name, Store: a.stores.Ledger, Log: a.log, Observe: a.observe,
		Rule: func(route string) *blame.Rule { return (*u.rules.Load())[route] },
	}
	if a.follows() {
		cfg.Node, cfg.Follow = a.node, a.cfg.Live.Poll/2
	}
	if a.cfg.StateDir != "" {
		j, flight, err := journal.Open(filepath.Join(a.cfg.StateDir, "inflight-"+u.name+".journal"), 0)
		if err != nil {
			return fmt.Errorf("fleet %s: %w", u.name, err)
		}
		j.SetRun(a.run.ID())
		u.closer, u.flight, u.wrote, cfg.Journal = j, records(flight), j.WrittenBy(), writeAhead{j}
	}
	l, err := ledger.New(cfg)
	u.ledger = l
	return err
}

func (u *unit) ended(epoch uint64, worker string, end fleet.End) {
	at := end.At
	if at.IsZero() {
		at = time.Now()
	}
	u.looked() // check for out-of-memory kills: a kill so far was of the worker
	u.ledger.Ended(epoch, end.Planned, bezoar.Evidence{
		Worker: worker, Epoch: epoch, At: at, Class: end.Class, Detail: end.Detail,
		ExitCode: end.ExitCode, Signal: end.Signal, Stderr: end.Stderr,
	})
}

func (u *unit) openKeeper(opt Options, log *slog.Logger) error {
	cfg := u.cfg.Load()
	var err error
	if len(cfg.Workers) > 0 {
		if err := u.trustWorkers(cfg, log); err != nil {
			return err
		}
		if u.prober, err = probe.New(u.remote(cfg, log)); err != nil {
			return fmt.Errorf("fleet %s: %w", u.name, err)
		}
		u.keeper = u.prober
		return nil
	}
	u.known = new(redact.Values)
	if u.super, err = supervise.New(u.local(cfg, opt, log)); err != nil {
		return fmt.Errorf("fleet %s: %w", u.name, err)
	}
	u.keeper = u.super
	return nil
}

// remote returns the settings for workers that run elsewhere.
func (u *unit) remote(cfg *config.Fleet, log *slog.Logger) probe.Config {
	return probe.Config{
		Name: u.name, Workers: cfg.Workers, Drain: cfg.Drain, Registry: u.fleet, Log: log, Conns: u.conns,
		Resolve: cfg.Resolve, Resized: u.ledger.SetFleet,
		TLS:   func(host string) *tls.Config { return u.trust.Load().TLS(host) },
		HTTP2: cfg.HTTP2, Weights: cfg.Balance.Weights,
		Health: probe.Health{Path: cfg.Health.Path, GRPC: cfg.Health.GRPC, Interval: cfg.Health.Interval, Timeout: cfg.Health.Timeout},
	}
}

// local returns the settings for workers that Bezoar starts.
func (u *unit) local(cfg *config.Fleet, opt Options, log *slog.Logger) supervise.Config {
	return supervise.Config{
		Name: u.name, Command: cfg.Command, Replicas: cfg.Replicas, Dir: cfg.Dir,
		Env: environment(cfg.Env), User: cfg.User,
		Inherit: proc.Inherit{Secrets: opt.Secrets, Drop: cfg.EnvDrop, Keep: cfg.EnvKeep},
		Health:  supervise.Health{Path: cfg.Health.Path, GRPC: cfg.Health.GRPC, HTTP2: cfg.HTTP2, Interval: cfg.Health.Interval, Timeout: cfg.Health.Timeout},
		Bake:    supervise.Bake{Requests: cfg.Bake.Requests, Time: cfg.Bake.Time},
		Grace:   cfg.Grace, Drain: cfg.Drain, Memory: int64(cfg.Memory),
		Output: output(opt.Output), Known: u.known, Log: log, Registry: u.fleet,
	}
}

// conns counts the wire's connections to one life of a worker.
func (u *unit) conns(worker string, epoch uint64) (alive, broken int) {
	w := u.fleet.Worker(worker, epoch)
	if w == nil {
		return 0, 0
	}
	p, ok := w.Conn().(gateway.Prober)
	if !ok {
		return 0, 0
	}
	return p.Conns()
}

func environment(vars map[string]string) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(vars)) {
		out = append(out, k+"="+vars[k])
	}
	return out
}

func output(to func(worker, stream, line string)) func(string, supervise.Stream, []byte) {
	if to == nil {
		return nil
	}
	return func(worker string, stream supervise.Stream, line []byte) { to(worker, stream.String(), string(line)) }
}

// writeAhead adapts a journal to the ledger.
type writeAhead struct{ j *journal.Journal }

func (w writeAhead) Begin(slot int, r ledger.Record) {
	w.j.Begin(slot, journal.Record{
		Fingerprint: r.Fingerprint, Shape: r.Shape, Start: r.Start,
		Successes: whole(r.Successes), Exempt: r.Exempt,
	})
}

func (w writeAhead) End(slot int) { w.j.End(slot) }

// whole rounds successes up, so that one that has decayed a little still counts as one.
func whole(successes float64) uint16 {
	const slack = 1e-3 // for rounding errors around zero
	return uint16(min(math.Ceil(successes-slack), math.MaxUint16))
}

func records(in []journal.Record) []ledger.Record {
	out := make([]ledger.Record, len(in))
	for i, r := range in {
		out[i] = ledger.Record{Fingerprint: r.Fingerprint, Shape: r.Shape, Start: r.Start, Successes: float64(r.Successes), Exempt: r.Exempt}
	}
	return out
}
