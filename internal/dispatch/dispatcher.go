package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// Config describes a dispatcher. Fleet and Ledger are required.
type Config struct {
	Fleet  *fleet.Fleet
	Ledger *ledger.Ledger
	Retry  RetryConfig   // for work without a Retry
	Wait   time.Duration // for a worker, the lane or a duplicate; default 15 s
}

const (
	maxQueue = 512                    // how many may wait for the lane
	linger   = 100 * time.Millisecond // how long an idle lane keeps its worker
)

func (c Config) withDefaults() Config {
	c.Wait = cmp.Or(c.Wait, defaultWait)
	return c
}

// Validate reports every impossible field.
func (c Config) Validate() error {
	var errs faults.List
	errs.If(c.Fleet == nil, "Fleet is nil")
	errs.If(c.Ledger == nil, "Ledger is nil")
	errs.If(c.Wait < 0, "Wait must not be negative")
	return errors.Join(append(errs, c.Retry.Validate())...)
}

// Stats counts what a dispatcher has done since it began.
type Stats struct {
	Answered, Refused, Unavailable, Failed, TimedOut, Aborted, Cut uint64
	Attempts, LaneRuns, Retries                                    uint64
	WouldRefuse, WouldIsolate                                      uint64 // work whose rule only reports
	Waiting                                                        int    // for the lane, now
	HeldBack                                                       uint64 // because most of the fleet had just died
	Holding                                                        int    // held back now
}

// Dispatcher sends the work of one fleet. Create it with [New]. All methods
// are safe for concurrent use.
type Dispatcher struct {
	cfg   Config
	lane  laneQueue
	calls sync.Pool

	retry *Retry // for work without a Retry

	kinds     [Cut + 1]atomic.Uint64
	attempts  atomic.Uint64
	laneRuns  atomic.Uint64
	retries   atomic.Uint64
	companies companies

	wouldRefuse  atomic.Uint64
	wouldIsolate atomic.Uint64

	pacing atomic.Int64 // number of calls that wait for a pace

	line     chan struct{} // a call that is held back takes it while it asks; buffered, one
	heldBack atomic.Uint64
	holding  atomic.Int64 // number of calls that are held back

	waitingForBudget atomic.Int64 // number of calls that wait for the budget

	hurry   sync.Once
	hurried chan struct{} // closed by Hurry
}

// New returns a dispatcher. Work for the lane waits until Run runs.
func New(cfg Config) (*Dispatcher, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("dispatch: %w", err)
	}
	d := &Dispatcher{cfg: cfg.withDefaults()}
	d.retry, _ = NewRetry(cfg.Retry) // validated above
	d.lane.init()
	d.hurried, d.line = make(chan struct{}), make(chan struct{}, 1)
	d.companies.byEpoch = map[uint64]*company{}
	d.calls.New = func() any { return new(call) }
	return d, nil
}

// Hurry tells the dispatcher that the program is about to stop: the lane watches no worker after an answer any more, and
// nothing waits for a pace. It may be called more than once.
func (d *Dispatcher) Hurry() { d.hurry.Do(func() { close(d.hurried) }) }

// Stats returns the counts so far.
func (d *Dispatcher) Stats() Stats {
	n := func(k Kind) uint64 { return d.kinds[k].Load() }
	return Stats{
		Answered: n(Answered), Refused: n(Refused), Unavailable: n(Unavailable), Failed: n(Failed),
		TimedOut: n(TimedOut), Aborted: n(Aborted), Cut: n(Cut),
		Attempts: d.attempts.Load(), LaneRuns: d.laneRuns.Load(), Retries: d.retries.Load(),
		WouldRefuse: d.wouldRefuse.Load(), WouldIsolate: d.wouldIsolate.Load(),
		Waiting: d.lane.len(), HeldBack: d.heldBack.Load(), Holding: int(d.holding.Load()),
	}
}

// Do runs w until it has its answer.
func (d *Dispatcher) Do(ctx context.Context, w Work, j Job) (a Answer) {
	d.do(ctx, &w, j, false, &a)
	return a
}

// Redrive runs w in the lane by an operator's order, even if it is quarantined.
func (d *Dispatcher) Redrive(ctx context.Context, w Work, j Job) (a Answer) {
	d.do(ctx, &w, j, true, &a)
	return a
}

func (d *Dispatcher) do(ctx context.Context, w *Work, j Job, redrive bool, a *Answer) {
	c := d.calls.Get().(*call)
	c.d, c.w, c.job, c.redrive, c.now = d, *w, j, redrive, w.Now // in place: a literal would be built elsewhere and copied
	bw := &c.bw
	bw.Fingerprint, bw.Shape, bw.Client, bw.Traits, bw.Rule, bw.Exempt = w.Fingerprint, w.Shape, w.Client, w.Traits, w.Rule, w.Off
	c.w.Timeout = cmp.Or(c.w.Timeout, defaultTimeout)
	if c.w.Retry == nil {
		c.w.Retry = d.retry
	}
	c.run(ctx)
	c.leaveCompany(c.answer.Kind == Refused)
	c.answer.Attempts = c.attempts
	*a = c.answer
	*c = call{}
	d.calls.Put(c)
	d.kinds[a.Kind].Add(1)
}

// call is one piece of work in progress.
type call struct {
	d         *Dispatcher
	w         Work
	bw        blame.Work
	job       Job
	target    Target
	answer    Answer        // of the last step
	now       time.Time     // the current time, until the call waits; zero: unknown
	attempts  int           // deliveries made
	free      int           // deliveries that do not count: the worker was taken down, or the fleet was in trouble
	dials     int           // workers that could not be reached
	refusals  int           // those of dials whose worker lives
	gone      bool          // the last of these does not live
	failed    bool          // an attempt failed: further failures say nothing about their workers
	waited    time.Time     // deadline of all waits; zero until one begins
	paced     time.Time     // when it first waited for a pace
	avoid     string        // the worker that failed last
	redrive   bool          // an operator's order: the lane, in spite of any verdict
	isolate   bool          // it broke a connection: its other attempts run in the lane
	single    bool          // it was in a batch that crashed
	hold      time.Duration // in the lane, no other work may start this long after it
	likely    float64       // its share in the death of its company, if it is one of the few likely ones
	died      int           // number of workers that died on it in the lane
	limit     int           // how much may run in the lane with it, including itself; 0: no limit
	ran       time.Duration // how long it had run when its worker died
	met       int           // workers that died in the lane with it and others
	group     *company      // with whom it died last
	suspectOf *company      // … when it is one of those that run alone next
	doubted   *company      // the last that it was one of those of
	lost      int           // number of workers that ended with it
	reason    string        // of the last failure
}

// step is the result of one turn of a call.
type step bool

const (
	stepDone  step = false // the call has its answer
	stepAgain step = true  // another turn
)

func (c *call) done(a Answer) step {
	c.answer = a
	return stepDone
}

// run sets the call's answer.
func (c *call) run(ctx context.Context) {
	for {
		if c.pastDeadline() {
			c.answer = c.expired(c.reason)
			return
		}
		if c.turn(ctx) == stepDone {
			return
		}
		c.now = time.Time{}
		if ctx.Err() != nil {
			c.answer = Answer{Kind: Aborted, Reason: "the caller hung up"}
			return
		}
	}
}

// turn admits the work once and carries out the decision.
func (c *call) turn(ctx context.Context) step {
	if c.w.Off {
		return c.fleet(ctx, c.d.cfg.Ledger.Open(c.bw), false)
	}
	if c.redrive || c.isolate {
		t, ok := c.d.cfg.Ledger.Redrive(c.bw)
		if !ok {
			return c.await(ctx, nil, time.Time{})
		}
		return c.inLane(ctx, t, blame.Decision{Action: blame.ToLane})
	}
	t, dec, wait, ok := c.admit(ctx)
	if !ok {
		return stepAgain
	}
	switch dec.Would {
	case blame.Refuse:
		c.d.wouldRefuse.Add(1)
	case blame.ToLane, blame.Duplicate:
		c.d.wouldIsolate.Add(1)
	}
	switch dec.Action {
	case blame.Refuse:
		return c.refuse(dec)
	case blame.Duplicate:
		if s, ok := c.job.(StreamWaiter); ok && dec.Begun {
			s.WaitsForStream()
		}
		return c.await(ctx, wait, dec.Until)
	case blame.Pace:
		return c.keepPace(ctx, dec)
	case blame.ToLane:
		return c.inLane(ctx, t, dec)
	case blame.ToCanary:
		return c.fleet(ctx, t, true)
	}
	if dec.Beside != 0 {
		return c.beside(ctx, t, dec.Beside)
	}
	return c.fleet(ctx, t, false)
}

// reports reports whether the work's rule only reports, so that nothing is refused or isolated.
func (c *call) reports() bool { return c.bw.Rule != nil && c.bw.Rule.ReportOnly && !c.redrive }

func (c *call) refuse(dec blame.Decision) step {
	v, ok := c.d.cfg.Ledger.Refused(c.bw, c.w.Route, c.job)
	a := Answer{Kind: Refused, Rule: RuleQuarantine, Reason: v.Reason, RetryAfter: time.Until(dec.Until)}
	if ok {
		a.Verdict = &v
	}
	if a.RetryAfter < time.Second {
		a.RetryAfter = time.Second
	}
	return c.done(a)
}

// duplicatePoll is how often a waiting copy checks whether the first one's answer has begun.
const duplicatePoll = 500 * time.Millisecond

// await waits for the copy that goes first, and asks again by until.
func (c *call) await(ctx context.Context, wait <-chan struct{}, until time.Time) step {
	left := c.waitLeft()
	if left <= 0 {
		return c.done(c.unavailable(RuleDuplicate, "an identical copy that has never succeeded is still in flight"))
	}
	poll := duplicatePoll
	if !until.IsZero() {
		poll = max(time.Millisecond, min(poll, time.Until(until)))
	}
	timer := time.NewTimer(min(left, poll))
	defer timer.Stop()
	stops := c.d.hurried
	if time.Until(until) < duplicatePoll {
		stops = nil // a copy is running, or its turn is near
	}
	select {
	case <-wait:
	case <-stops:
		return c.done(c.unavailable(RuleDuplicate, "a copy that has never succeeded is still being watched, and Bezoar is about to stop"))
	case <-timer.C:
	case <-ctx.Done():
	}
	return stepAgain
}

// leastPaced is how long work waits for the pace of its shape even if its turn is far away: by then more may be known about
// what killers have and this work has not.
const leastPaced = 5 * time.Second

// keepPace waits until work of an escalated level may ask again, if its caller waits that long. It also asks again in
// between, because the facts may have changed.
func (c *call) keepPace(ctx context.Context, dec blame.Decision) step {
	what := "requests that look like it have killed workers"
	switch dec.Cause {
	case blame.ByClient:
		what = "its caller's requests have killed workers"
	case blame.ByShape:
		what = "requests of its shape have killed workers"
	}
	wait, left := time.Until(dec.Until), c.waitLeft()
	if c.paced.IsZero() {
		c.paced = time.Now()
	}
	defer c.d.pacing.Add(-1)
	waiting, most := c.d.pacing.Add(1), int64(maxQueue)
	if left > 0 && wait > left && dec.Cause != blame.ByClient && time.Since(c.paced) < leastPaced {
		wait, most = left, most/4 // the other places are for work whose turn will come
	}
	if wait > left || waiting > most {
		a := c.unavailable(RulePace, what+", so unproven ones run slowly, one at a time")
		a.RetryAfter = max(time.Until(dec.Until), time.Second)
		return c.done(a)
	}
	select {
	case <-time.After(min(max(wait, time.Millisecond), duplicatePoll)):
	case <-ctx.Done():
	case <-c.d.hurried:
		return c.done(c.unavailable(RulePace, what+", and Bezoar is about to stop"))
	}
	return stepAgain
}

// conclude names the work in its case, and sets it aside if it is convicted.
func (c *call) conclude(ctx context.Context, convicted bool) (*bezoar.Verdict, bool) {
	v, ok := c.d.cfg.Ledger.Conclude(ctx, c.bw, c.w.Route, c.job, convicted)
	return &v, ok
}
