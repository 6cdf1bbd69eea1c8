package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/health"
	"github.com/bezoar-dev/bezoar/internal/control/admin"
	"github.com/bezoar-dev/bezoar/internal/control/apidoc"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/gateway"
	"github.com/bezoar-dev/bezoar/internal/gateway/certs"
	"github.com/bezoar-dev/bezoar/internal/gateway/connlimit"
	"github.com/bezoar-dev/bezoar/internal/process/guardian"
	"github.com/bezoar-dev/bezoar/internal/queue/sqs"
	"github.com/bezoar-dev/bezoar/internal/state/handover"
	"github.com/bezoar-dev/bezoar/internal/state/lastrun"
	"github.com/bezoar-dev/bezoar/internal/store"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/internal/triage/alarm"
	"github.com/bezoar-dev/bezoar/queue"
)

// Options holds what a configuration does not. The zero value is useful.
type Options struct {
	Log      *slog.Logger                                                        // default: silent
	Output   func(worker, stream, line string)                                   // gets the output of the workers; default: dropped
	Secrets  []string                                                            // environment variables that workers must not see
	Observe  func(ledger.Event)                                                  // gets every decision; default: dropped
	Page     http.Handler                                                        // the console; nil: none
	Extra    func(a *App) http.Handler                                           // further parts of the admin API; nil: none
	Alarms   alarm.Config                                                        // only its Every and Now; the rest is in the settings
	Leave    <-chan struct{}                                                     // closed some time before Run is told to end: Bezoar is no longer ready, and connections are not kept; nil: never
	Restart  <-chan struct{}                                                     // each value reads Settings again or, without a file, begins a rolling restart of all fleets; nil: none
	Settings Settings                                                            // the file to follow; the zero value: none
	Started  func(a *App)                                                        // called when the listeners are open
	Sockets  *handover.Sockets                                                   // listening sockets from outside; nil: none
	TakeOver bool                                                                // take the sockets of the Bezoar that has this state directory, which ends when this one serves
	resumes  bool                                                                // callers wait: the process that took over has ended
	Watch    func(log *slog.Logger, jobs guardian.Jobs) (*guardian.Watch, error) // starts what kills tasks of flows when a node of a shared store does not renew its lease; nil: nothing
	Alone    bool                                                                // nothing else in this process can panic, so the state directory keeps what the runtime prints at its end
}

// App is one running Bezoar. Create it with [New].
type App struct {
	cfg           config.Config
	opt           Options
	log           *slog.Logger
	stores        store.Stores
	opened        bool           // stores are open
	run           *lastrun.Run   // the record of this run
	last          lastrun.Report // how the last run ended
	key           fingerprint.Key
	node          string // this process among those of its store
	now           atomic.Pointer[present]
	protect       protection
	overrides     overrides
	guards        guards
	observability observability
	health        *health.Health
	live          *live.Live // nil: the settings do not change
	applied       string     // the sum of the settings that run; only the live engine's goroutine uses it
	gateway       *gateway.Gateway
	front         *gateway.Server
	certs         *certs.Store      // of front; nil without TLS
	more          []*gateway.Server // in addition to front
	plain         *gateway.Server   // redirects to front; nil: none
	admin         *admin.Server
	adminLn       net.Listener
	sockets       *handover.Sockets
	succeeds      bool                  // callers already wait on the listening sockets
	before        *handover.Predecessor // serves again if this process ends before it serves; nil: none
	successor     *handover.Successor   // waits until everything is closed; nil: no process follows
	hub           admin.Hub
	queues        *queue.Engine
	wire          *sqs.Handler // knows the queues' attributes by their SQS names
	sqs           *sqs.Server  // nil: none
	sqsLn         net.Listener
	flowParts     // of flows
	triage        *triage.Service
	alarms        atomic.Pointer[alarm.Alarms] // nil: none
	outer, fronts services                     // made from the settings; a reload replaces them
	relays        services                     // of outboxes; likewise
	// convicted are verdicts that the queues must be told of.
	convicted chan bezoar.Verdict

	mu    sync.Mutex // guards ready
	ready error

	life       context.Context //nolint:containedctx // of Run, for what it starts on demand
	base       context.Context //nolint:containedctx // of the services that end before life
	failed     func(what string, err error) error
	background sync.WaitGroup
	reloading  sync.Mutex               // held during Reload
	leaving    map[string]chan struct{} // removed fleets that have not stopped; only Reload uses it
}

// Run opens cfg and serves until ctx ends, or until another process that has taken over serves. If that process ends before,
// Run serves again.
func Run(ctx context.Context, cfg config.Config, opt Options) error {
	a, err := New(ctx, cfg, opt)
	for err == nil {
		err = a.Run(ctx)
		sockets, late := a.awaitSuccessor(ctx)
		if sockets == nil {
			return cmp.Or(err, late)
		}
		opt.Sockets, opt.resumes, opt.TakeOver = sockets, true, false
		a, err = New(ctx, a.now.Load().cfg, opt)
	}
	return err
}

// New opens the store and the listeners and wires everything. It waits for a store that does not answer. It starts nothing;
// the caller must call Run.
func New(ctx context.Context, cfg config.Config, opt Options) (_ *App, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	opt.Log = cmp.Or(opt.Log, slog.New(slog.DiscardHandler))
	a := &App{cfg: cfg, opt: opt, log: opt.Log, ready: errors.New("starting"), convicted: make(chan bezoar.Verdict, maxConvicted), run: new(lastrun.Run)}
	a.guards.turns = guard.NewTurns()
	a.now.Store(&present{cfg: cfg, byName: map[string]*unit{}})
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	if err := a.openSockets(ctx); err != nil {
		return nil, err
	}
	key, err := a.openState()
	if err != nil {
		return nil, err
	}
	a.key = fingerprint.Key(key)
	if a.node, err = nodeName(&cfg); err != nil {
		return nil, err
	}
	if err := errors.Join(a.openHealth(), a.listenAdmin()); err != nil {
		return nil, err
	}
	if a.stores, err = a.openStore(ctx); err != nil {
		return nil, err
	}
	a.opened = true
	if err := errors.Join(a.recogniseStore(ctx), a.checkStore()); err != nil {
		return nil, err
	}
	a.compareSecret(ctx, key)
	if err := a.openQueues(ctx, a.key); err != nil {
		return nil, err
	}
	for _, open := range []func() error{func() error { return a.openObservability(ctx) }, a.openProtection, a.openUnits, a.openOutboxes, a.openTriage, func() error { return a.openFlows(ctx) }, func() error { return a.openGateway(ctx) }, func() error { return a.openLive(ctx) }, a.openAdmin} {
		if err := open(); err != nil {
			return nil, err
		}
	}
	if rest := a.sockets.CloseRest(); len(rest) > 0 {
		a.log.Warn("the service manager passed sockets that the settings do not use", "sockets", rest)
	}
	return a, nil
}

func (a *App) openGateway(ctx context.Context) error {
	if a.cfg.Listen == "" || len(a.cfg.Routes) == 0 {
		return nil // callers would only get 404
	}
	a.now.Load().files = a.filesElsewhere(ctx, &a.cfg)
	cfg, err := a.gatewayConfig(a.now.Load())
	if err != nil {
		return err
	}
	if a.gateway, err = gateway.New(cfg); err != nil {
		return err
	}
	a.adoptGuards(a.now.Load())
	var tc *tls.Config
	if a.cfg.TLS != nil {
		if a.certs, err = certs.New(certs.Config{Pairs: pairsOf(a.cfg.TLS), Log: a.log}); err != nil {
			return fmt.Errorf("tls: %w", err)
		}
		tc = a.certs.TLS()
	}
	if err := a.openListeners(tc); err != nil {
		return err
	}
	a.lastCall(a.sockets.Outlive())
	return a.openRedirect()
}

// openListeners opens the listeners for callers, with TLS if tc is not nil.
func (a *App) openListeners(tc *tls.Config) (err error) {
	cfg := gateway.ServerConfig{Listen: a.cfg.Listen, On: a.listen(handover.HTTP), TLS: tc, DrainTimeout: longestDrain(&a.cfg), Log: a.log}
	if c := a.cfg.Connections; c != nil {
		cfg.IdleTimeout, cfg.Lifetime = c.Idle, c.Lifetime
	}
	// All listeners together may have as many connections as a single one could.
	cfg.MaxConns = max(connlimit.Share(16<<10, connlimit.Callers)/(1+len(a.cfg.Listeners)), 1)
	if a.front, err = gateway.NewServer(a.gateway, cfg); err != nil {
		return err
	}
	for i, l := range a.cfg.Listeners {
		cfg.Listen, cfg.TLS = l.Listen, tc
		if l.Plain {
			cfg.TLS = nil
		}
		s, err := gateway.NewServer(a.gateway, cfg)
		if err != nil {
			return fmt.Errorf("listeners[%d]: %w", i, err)
		}
		a.more = append(a.more, s)
		a.log.Info("this listener serves callers as well", "listen", s.Addr().String(), "tls", cfg.TLS != nil)
	}
	return nil
}

// longestDrain is the longest time that any fleet may take to finish work in flight.
func longestDrain(cfg *config.Config) time.Duration {
	d := time.Second
	for _, f := range cfg.Fleets {
		d = max(d, f.Drain)
	}
	return d
}

func (a *App) openAdmin() error {
	if a.cfg.Admin == "" {
		return nil
	}
	token, err := a.cfg.AdminToken()
	if err != nil {
		return err
	}
	cfg := admin.Config{
		Address: a.cfg.Admin, Token: token, Page: a.opt.Page, Log: a.log, Description: apidoc.Document(),
		Queues: queueView{a.queues, a.wire}, Triage: a.triage, Alarms: a.alarmStates,
		Outboxes: a.outboxList, Top: a.observability.counts.Top, Metrics: a.metrics(), Audit: a.audit,
		Steering: steering{a, a.live}, Fixed: a.live == nil, Guards: a.guardList, Health: func() any { return a.health.Report() },
		Livez: a.health.Livez(), Readyz: a.health.Readyz(), Healthz: a.health.Healthz(),
	}
	if a.flowAPI != nil {
		cfg.Flows = a.flowAPI
	}
	if a.opt.Extra != nil {
		cfg.Extra = a.opt.Extra(a)
	}
	a.admin, err = admin.New(cfg, backend{a}, &a.hub)
	return err
}

// listenAdmin opens the admin API's listener, before there is an API.
func (a *App) listenAdmin() error {
	if a.cfg.Admin == "" {
		return nil
	}
	var err error
	if a.adminLn, err = a.sockets.Listen(handover.Admin, a.cfg.Admin); err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	return nil
}

// Addr returns where callers are served, or "".
func (a *App) Addr() string {
	if a.front == nil {
		return ""
	}
	return a.front.Addr().String()
}

// MoreAddrs returns the other addresses where callers are served, in the order of the settings.
func (a *App) MoreAddrs() []string {
	var out []string
	for _, s := range a.more {
		out = append(out, s.Addr().String())
	}
	return out
}

// RedirectAddr returns the address that redirects plain HTTP to HTTPS, or "".
func (a *App) RedirectAddr() string {
	if a.plain == nil {
		return ""
	}
	return a.plain.Addr().String()
}

// AdminAddr returns where the admin API listens, or "".
func (a *App) AdminAddr() string {
	if a.adminLn == nil {
		return ""
	}
	return a.adminLn.Addr().String()
}

// close releases what New opened, in the reverse order.
func (a *App) close() {
	var errs []error
	if a.adminLn != nil {
		errs = append(errs, ignoreClosed(a.adminLn.Close()))
	}
	if a.sqsLn != nil {
		errs = append(errs, ignoreClosed(a.sqsLn.Close()))
	}
	if a.front != nil {
		errs = append(errs, ignoreClosed(a.front.Close()))
	}
	for _, s := range a.more {
		errs = append(errs, ignoreClosed(s.Close()))
	}
	if a.plain != nil {
		errs = append(errs, ignoreClosed(a.plain.Close()))
	}
	a.observability.log.Load().close()
	for _, u := range a.now.Load().units {
		if u.closer != nil {
			errs = append(errs, u.closer.Close())
		}
	}
	if a.flows != nil {
		errs = append(errs, a.flows.Close())
	}
	if a.opened {
		errs = append(errs, a.stores.Close())
	}
	errs = append(errs, a.run.Close()) // last, because the others may panic
	if a.sockets != nil {
		a.sockets.CloseRest()
		a.sockets.Unclaim()
	}
	if a.successor != nil {
		a.successor.Release()
	}
	if a.before != nil {
		a.before.GiveUp()
	}
	if err := errors.Join(errs...); err != nil {
		a.log.Warn("closing", "err", err)
	}
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (a *App) setReady(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ready = err
}

// maxConvicted bounds the convictions that the queues have not been told of yet.
const maxConvicted = 256

// memoryLetters bounds the dead letters of a store in memory, where each may be as large as a held body.
const memoryLetters = 1000

func maxLetters(at string) int {
	if at == config.MemoryStore {
		return memoryLetters
	}
	return 0
}

// made returns a secret that lives as long as the process.
func made() (key [32]byte) {
	_, _ = rand.Read(key[:]) // never fails since Go 1.24
	return key
}
