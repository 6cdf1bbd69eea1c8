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

// Journal remembers what was in flight across a kill of the process. Slots are small numbers, reused; a slot out of range
// is ignored. Neither method blocks.
type Journal interface {
	Begin(slot int, r Record)
	End(slot int)
}

// Record is one piece of work in flight.
type Record struct {
	Fingerprint bezoar.Fingerprint
	Shape       bezoar.Fingerprint
	Start       time.Time
	Successes   float64 // decayed count at the time of sending
	Exempt      bool    // it is never blamed
}

// LastRun describes the end of the previous process.
type LastRun struct {
	Flight []Record        // in flight when it died; empty if it stopped in order
	Death  blame.SelfDeath // how it died
}

// Event is one decision, with its fleet.
type Event struct {
	Fleet string
	blame.Event
}

// Config describes a ledger. Only Fleet is required.
type Config struct {
	Fleet   string
	Blame   blame.Config
	Store   Store                          // nil: nothing survives the process
	Journal Journal                        // nil: Bezoar's own death is not judged
	Log     *slog.Logger                   // nil: silent
	Observe func(Event)                    // gets every decision, in order; must not block for long or call the ledger
	Rule    func(route string) *blame.Rule // rules for restored verdicts; nil: Blame.Rule

	// Node names this process among those that share the fleet's verdicts through Store. Follow is how often each reads the
	// others' decisions; 0: never.
	Node   string
	Follow time.Duration
}

// Validate reports every impossible field.
func (c Config) Validate() error {
	var errs faults.List
	errs.If(c.Fleet == "", "Fleet is empty")
	errs.If(c.Follow < 0, "Follow is %v, want 0 or more", c.Follow)
	errs.If(c.Follow > 0 && (c.Node == "" || c.Store == nil), "Follow needs a Node and a Store")
	return errors.Join(append(errs, c.Blame.Validate())...)
}

// Ledger is the record of one fleet. Create it with [New].
type Ledger struct {
	cfg Config

	mu         sync.Mutex // guards state, duplicates and todo
	state      *blame.State
	duplicates map[bezoar.Fingerprint]chan struct{}
	todo       []Event

	storing *errlog.Limiter // of Run's writes

	persisting sync.Mutex         // held while events are written and reported, in order; taken before mu
	behind     bool               // guarded by persisting: a write failed, and catchUp will write it
	missed     bool               // guarded by persisting: a write failed since catchUp began
	stored     map[string]written // guarded by persisting: ids that the store may have, with values that change over time
	foreign    map[string]bool    // guarded by persisting: those of stored that another node decided
	revision   int64              // guarded by persisting: the store's revision that was read last
	letters    letters
}

// New returns an empty ledger; [Ledger.Load] restores what was stored.
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

// Load restores the stored verdicts, and judges what was in flight when the process last died; nil: unknown. Call it once,
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

// locked runs f with the lock held, at the current time. It releases the lock even if f panics: callers recover from a
// panic, and all others would wait for ever.
func (l *Ledger) locked(f func(now time.Time)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(time.Now())
	l.settle()
}

// leave releases the lock, and then stores and reports what was decided under it.
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

func (l *Ledger) SetFleet(workers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.SetFleet(workers)
}

// Streams counts, by epoch, answers that have been streaming for longer than the observation window.
func (l *Ledger) Streams() map[uint64]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.Streams(time.Now())
}

// Admit decides where w goes. For ToFleet, ToCanary and ToLane the caller must call Close. For Duplicate, wait ends when
// asking again makes sense.
func (l *Ledger) Admit(w blame.Work) (t blame.Ticket, d blame.Decision, wait <-chan struct{}) {
	return l.AdmitAt(time.Now(), w)
}

// AdmitAt is Admit at the current time.
func (l *Ledger) AdmitAt(now time.Time, w blame.Work) (t blame.Ticket, d blame.Decision, wait <-chan struct{}) {
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

// Redrive opens a ticket for work that runs in the lane in spite of any verdict; false if a copy is there already.
func (l *Ledger) Redrive(w blame.Work) (blame.Ticket, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.Redrive(w)
}

// Open opens a ticket without a decision, for work whose route has the quarantine off. Its attempts are recorded as well.
func (l *Ledger) Open(w blame.Work) blame.Ticket {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.Open(w)
}

// Begin records an attempt before its first byte leaves; false if the epoch is over.
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

// Begun records that the answer has begun.
func (l *Ledger) Begun(now time.Time, t blame.Ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Begun(now, t)
}

// End ends t's attempt. A finding that a crash left meanwhile stays.
func (l *Ledger) End(t blame.Ticket, r blame.Result) {
	if l.cfg.Journal != nil {
		l.cfg.Journal.End(int(t))
	}
	now := time.Now()
	l.mu.Lock()
	defer l.leave()
	l.state.End(now, t, r)
}

// Overtaken reports whether the decision about t's work is out of date. Call it before an attempt if the work has waited
// since [Ledger.Admit]; if it returns true, close t and admit the work again.
func (l *Ledger) Overtaken(t blame.Ticket) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.Overtaken(time.Now(), t)
}

// Lifted reports whether t's work waits for the lane, and nothing is held against it any more. If it returns true, close t
// and admit the work again.
func (l *Ledger) Lifted(t blame.Ticket) bool {
	l.mu.Lock()
	defer l.leave()
	return l.state.Lifted(time.Now(), t)
}

// Detach drops the traits of t's work and returns the work in the form in which it is known from then on. Call it before
// the request is gone, if the ticket stays open.
func (l *Ledger) Detach(t blame.Ticket) blame.Work {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.Detach(t)
}

// Finding takes the finding that a crash left on t.
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

// Withdraw is Close for work that has not been sent anywhere: copies need not ask again because of it.
func (l *Ledger) Withdraw(t blame.Ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Close(t)
}

// Finish is End followed by Close.
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

// Silent records that a worker has stopped to answer both its work and a check of its
// health, or that it answers again.
func (l *Ledger) Silent(epoch uint64, mute bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Silent(time.Now(), epoch, mute)
}

// Alive records that a look found a worker well that had not answered for a while.
func (l *Ledger) Alive(epoch uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Alive(time.Now(), epoch)
}

// Ended ends an epoch. When it returns, the blame is shared out and stored.
func (l *Ledger) Ended(epoch uint64, planned bool, ev bezoar.Evidence) {
	l.locked(func(now time.Time) {
		if !ev.At.IsZero() {
			now = ev.At
		}
		l.state.Crash(now, epoch, planned, ev)
	})
	l.persist(context.Background())
}

// Suspend closes the fleet gate for d, for a rollout.
func (l *Ledger) Suspend(d time.Duration) {
	l.locked(func(now time.Time) { l.state.Suspend(now, now.Add(d)) })
	l.persist(context.Background())
}

// GateClosed reports whether the fleet gate is closed: workers die for another reason than the work, or a rollout is under
// way.
func (l *Ledger) GateClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.GateClosed(time.Now())
}

// Recovery returns the state of the fleet's recovery from the death of half of its workers; false if there is no recovery.
func (l *Ledger) Recovery() (blame.Recovery, bool) {
	l.mu.Lock()
	defer l.leave() // the recovery may be over
	return l.state.Recovery(time.Now())
}

// NewBuild lets every convict be tried soon, because the workers now run other code.
func (l *Ledger) NewBuild() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.NewBuild(time.Now())
}
