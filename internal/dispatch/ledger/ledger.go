package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/errlog"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// Journal remembers across a kill of the process what was in flight. Slots are
// small numbers, reused; one out of range is ignored. Neither method blocks.
type Journal interface {
	Begin(slot int, r Record)
	End(slot int)
}

// Record is one piece of work in flight.
type Record struct {
	Fingerprint bezoar.Fingerprint
	Shape       bezoar.Fingerprint
	Start       time.Time
	Successes   float64 // decayed, when it was sent
	Exempt      bool    // nothing is held against it
}

// LastRun is what is known of the process before this one.
type LastRun struct {
	Flight []Record        // what was in flight when it died; none if it stopped in order
	Death  blame.SelfDeath // how it died
}

// Event is one decision with the fleet it was made for.
type Event struct {
	Fleet string
	blame.Event
}

// Config describes a ledger. Fleet is required; the zero value of the rest is
// useful.
type Config struct {
	Fleet   string
	Blame   blame.Config
	Store   Store                          // nil: nothing outlives the process
	Journal Journal                        // nil: Bezoar's own death is not accounted for
	Log     *slog.Logger                   // nil: silent
	Observe func(Event)                    // told every decision, in order; must neither block for long nor call the ledger
	Rule    func(route string) *blame.Rule // rules for restored verdicts; nil: Blame.Rule

	// Node tells the processes apart that share the fleet's verdicts through
	// Store, and Follow is how often each looks what the others have decided: 0
	// for never.
	Node   string
	Follow time.Duration
}

// Validate reports every impossible field.
func (c Config) Validate() error {
	var errs faults.List
	errs.If(c.Fleet == "", "Fleet is empty")
	errs.If(c.Follow < 0, "Follow is %v, want 0 or more", c.Follow)
	errs.If(c.Follow > 0 && (c.Node == "" || c.Store == nil), "Follow is set: it takes a Node and a Store")
	return errors.Join(append(errs, c.Blame.Validate())...)
}

// Ledger is the account of one fleet. Create it with [New].
type Ledger struct {
	cfg Config

	mu         sync.Mutex // guards state, duplicates and todo
	state      *blame.State
	duplicates map[bezoar.Fingerprint]chan struct{}
	todo       []Event

	storing *errlog.Limiter // of what Run writes

	persisting sync.Mutex         // held while events are written and told, in order; taken before mu
	behind     bool               // guarded by persisting: the store missed something, catchUp will write it
	missed     bool               // guarded by persisting: … since catchUp began
	stored     map[string]written // guarded by persisting: ids that the store may hold, with what changes by and by
	foreign    map[string]bool    // guarded by persisting: ids of stored that another node decided
	revision   int64              // guarded by persisting: of the store, that has been followed
	letters    letters
}

// New returns a ledger that knows nothing yet; [Ledger.Load] brings back what
// was stored.
func New(cfg Config) (*Ledger, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("ledger %s: %w", cfg.Fleet, err)
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if cfg.Blame.Rand == nil {
		cfg.Blame.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	l := &Ledger{cfg: cfg, state: blame.New(cfg.Blame, time.Now()), duplicates: map[bezoar.Fingerprint]chan struct{}{}, stored: map[string]written{}, foreign: map[string]bool{}}
	l.letters.init()
	l.storing = errlog.New(errlog.Config{Log: cfg.Log.With("fleet", cfg.Fleet), What: "storing verdicts and letters"})
	return l, nil
}

// Load restores the stored verdicts, and accounts for what was in flight when
// the process died the last time; nil when that is not known. Call it once,
// before work is admitted.
func (l *Ledger) Load(ctx context.Context, last *LastRun) error {
	if l.cfg.Store != nil {
		vs, err := l.cfg.Store.Verdicts(ctx, l.cfg.Fleet)
		if err != nil {
			return fmt.Errorf("load the verdicts of fleet %s: %w", l.cfg.Fleet, err)
		}
		l.restore(vs)
	}
	if last != nil && len(last.Flight) > 0 {
		l.loadLast(ctx, last)
	}
	return nil
}

func (l *Ledger) restore(vs []bezoar.Verdict) {
	l.persisting.Lock()
	defer l.persisting.Unlock()
	l.locked(func(now time.Time) {
		for _, v := range vs {
			l.state.Restore(now, v, l.rule(v.Route))
			l.stored[v.ID] = writtenOf(&v)
		}
	})
}

func (l *Ledger) loadLast(ctx context.Context, last *LastRun) {
	fs := make([]blame.InFlight, len(last.Flight))
	for i, r := range last.Flight {
		fs[i] = blame.InFlight{Work: blame.Work{Fingerprint: r.Fingerprint, Shape: r.Shape, Exempt: r.Exempt}, Successes: r.Successes}
	}
	var convicted, suspected int
	l.locked(func(now time.Time) { convicted, suspected = l.state.SelfCrash(now, fs, last.Death) })
	l.persist(ctx)
	l.cfg.Log.Info("judged what was in flight when the last run ended", "fleet", l.cfg.Fleet, "in_flight", len(fs), "quarantined", convicted, "suspects", suspected)
}

func (l *Ledger) rule(route string) *blame.Rule {
	if l.cfg.Rule == nil {
		return nil
	}
	return l.cfg.Rule(route)
}

// locked runs f with the lock held, at the time that it is then, and lets go of the
// lock whatever f does: callers recover from a panic, and all others would wait for
// ever.
func (l *Ledger) locked(f func(now time.Time)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(time.Now())
	l.settle()
}

// leave lets go of the lock, and then stores and tells what was decided under it.
func (l *Ledger) leave() {
	quiet := !l.state.Pending() && len(l.todo) == 0
	if !quiet {
		l.settle()
	}
	l.mu.Unlock()
	if !quiet {
		l.persist(context.Background())
	}
}

// SetFleet tells how many workers the fleet has.
func (l *Ledger) SetFleet(workers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.SetFleet(workers)
}

// Streams counts by epoch what has been streaming its answer for longer than the
// observation window.
func (l *Ledger) Streams() map[uint64]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.Streams(time.Now())
}

// Admit decides where w goes. For ToFleet, ToCanary and ToLane the caller owes
// Close. For Duplicate, wait returns when asking again makes sense.
func (l *Ledger) Admit(w blame.Work) (t blame.Ticket, d blame.Decision, wait <-chan struct{}) {
	now := time.Now()
	l.mu.Lock()
	defer l.leave()
	t, d = l.state.Admit(now, w)
	if d.Action == blame.Duplicate {
		c, ok := l.duplicates[w.Fingerprint]
		if !ok {
			c = make(chan struct{})
			l.duplicates[w.Fingerprint] = c
		}
		wait = c
	}
	return t, d, wait
}

// Redrive opens a ticket for work that goes through the lane whatever is held
// against it; false while a copy is there already.
func (l *Ledger) Redrive(w blame.Work) (blame.Ticket, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.Redrive(w)
}

// Open opens a ticket without a decision: for work whose route has the
// quarantine off. Its attempts are written down all the same.
func (l *Ledger) Open(w blame.Work) blame.Ticket {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.Open(w)
}

// Begin writes down an attempt before its first byte leaves; false when the
// epoch is over.
func (l *Ledger) Begin(now time.Time, t blame.Ticket, w *blame.Work, epoch uint64, overdue time.Time, lane bool) bool {
	successes, ok := l.begin(now, t, epoch, overdue, lane)
	if ok && l.cfg.Journal != nil {
		l.cfg.Journal.Begin(int(t), Record{Fingerprint: w.Fingerprint, Shape: w.Shape, Start: now, Successes: successes, Exempt: w.Exempt})
	}
	return ok
}

func (l *Ledger) begin(now time.Time, t blame.Ticket, epoch uint64, overdue time.Time, lane bool) (successes float64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ok = l.state.Begin(now, t, epoch, overdue, lane)
	if ok && l.cfg.Journal != nil {
		successes = l.state.Successes(t)
	}
	return successes, ok
}

// Begun notes that the answer has begun.
func (l *Ledger) Begun(now time.Time, t blame.Ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Begun(now, t)
}

// End ends t's attempt. A finding that a crash left meanwhile stands.
func (l *Ledger) End(t blame.Ticket, r blame.Result) {
	if l.cfg.Journal != nil {
		l.cfg.Journal.End(int(t))
	}
	now := time.Now()
	l.mu.Lock()
	defer l.leave()
	l.state.End(now, t, r)
}

// Overtaken reports whether the decision about t's work holds no more: ask
// before an attempt when something had to be waited for since [Ledger.Admit],
// and if so close t and admit the work again.
func (l *Ledger) Overtaken(t blame.Ticket) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.Overtaken(time.Now(), t)
}

// Detach lets go of the traits of t's work and returns it as it is known from then
// on: call it before the request is gone, if the ticket stays open.
func (l *Ledger) Detach(t blame.Ticket) blame.Work {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.Detach(t)
}

// Finding takes what a crash left on t.
func (l *Ledger) Finding(t blame.Ticket) (blame.Finding, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.Finding(t)
}

// Close gives t back and wakes the copies that waited for it.
func (l *Ledger) Close(t blame.Ticket, fp bezoar.Fingerprint) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.Close(t) {
		l.wake(fp)
	}
}

// Finish is End and Close in one.
func (l *Ledger) Finish(now time.Time, t blame.Ticket, fp bezoar.Fingerprint, r blame.Result) {
	if l.cfg.Journal != nil {
		l.cfg.Journal.End(int(t))
	}
	l.mu.Lock()
	defer l.leave()
	l.state.End(now, t, r)
	if l.state.Close(t) {
		l.wake(fp)
	}
}

// wake must be called with mu held.
func (l *Ledger) wake(fp bezoar.Fingerprint) {
	if len(l.duplicates) == 0 {
		return
	}
	if c, ok := l.duplicates[fp]; ok {
		delete(l.duplicates, fp)
		close(c)
	}
}

// Opened begins an epoch.
func (l *Ledger) Opened(epoch uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.OpenEpoch(epoch)
}

// Silent says that a worker answers neither its work nor a look at it, or does again.
func (l *Ledger) Silent(epoch uint64, mute bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Silent(epoch, mute)
}

// Ended ends an epoch: the blame is shared out and stored when it returns.
func (l *Ledger) Ended(epoch uint64, planned bool, ev bezoar.Evidence) {
	l.locked(func(now time.Time) {
		if !ev.At.IsZero() {
			now = ev.At
		}
		l.state.Crash(now, epoch, planned, ev)
	})
	l.persist(context.Background())
}

// Suspend closes the fleet gate for d: a rollout is on its way.
func (l *Ledger) Suspend(d time.Duration) {
	l.locked(func(now time.Time) { l.state.Suspend(now, now.Add(d)) })
	l.persist(context.Background())
}

// GateClosed reports whether the fleet gate is closed: workers die and it is not
// the work, or a rollout is on its way.
func (l *Ledger) GateClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.GateClosed(time.Now())
}

// Recovery returns how the fleet recovers from the death of half of its workers; false
// when it does not have to.
func (l *Ledger) Recovery() (blame.Recovery, bool) {
	l.mu.Lock()
	defer l.leave() // it may be over
	return l.state.Recovery(time.Now())
}

// NewBuild lets every convict be tried soon: the workers run other code now.
func (l *Ledger) NewBuild() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.NewBuild(time.Now())
}
