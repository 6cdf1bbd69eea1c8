package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Relay delivers the events of one outbox. You can run several relays, on several machines:
// the one that holds the lease works, and the others wait for it.
type Relay struct {
	c      Config
	gates  []*gate // one per entry of c.Sinks
	counts *counts
	alarms *alarms
	cache  *cache
	led    map[int64]bool // epochs that this process held; used by Run alone
}

// New returns a relay. Call Run to start it.
func New(c Config) (*Relay, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	c = c.WithDefaults()
	c.Log = c.Log.With("outbox", c.Name)
	r := &Relay{c: c, counts: newCounts(), alarms: newAlarms(c.Log), cache: newCache(c.FeedMemory), led: make(map[int64]bool)}
	for i, s := range c.Sinks {
		r.gates = append(r.gates, newGate(i, s.Name, c.Pause, r.alarms))
	}
	return r, nil
}

// Run relays events until ctx ends. It waits while another relay holds the lease, and while
// the database is unreachable. When ctx ends, batches in progress have Grace to finish;
// then Run releases the lease and returns nil.
func (r *Relay) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		asked := time.Now()
		lease, err := r.c.Store.Acquire(ctx, r.c.Owner, r.c.Lease)
		switch {
		case err == nil:
			r.alarms.clear(alarmNoOwner, alarmDatabase)
			r.counts.owner(lease, true)
			r.c.Log.Info("the relay acquired the lease", "epoch", lease.Epoch)
			r.led[lease.Epoch] = true
			r.lead(ctx, lease.Epoch, asked.Add(r.c.Lease))
			r.counts.led()
		case errors.Is(err, ErrHeld):
			r.alarms.clear(alarmNoOwner, alarmDatabase)
			r.counts.owner(lease, false)
			pause(ctx, min(lease.Left+10*time.Millisecond, r.c.Lease/3))
		case ctx.Err() == nil:
			r.alarms.set(alarmNoOwner, "", fmt.Sprintf("this relay cannot request the lease: %v", err))
			pause(ctx, min(time.Second, r.c.Lease/3))
		}
	}
	return nil
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// route returns the index of the sink for a topic; ok is false if no sink matches.
func (r *Relay) route(topic string) (i int, ok bool) {
	for i, s := range r.c.Sinks {
		for _, pattern := range s.Topics {
			start, open := strings.CutSuffix(pattern, "*")
			if topic == pattern || open && strings.HasPrefix(topic, start) {
				return i, true
			}
		}
	}
	return 0, false
}

// Stats returns the statistics and the state of the relay. It is safe for concurrent use.
func (r *Relay) Stats() Stats {
	s := r.counts.stats()
	for _, g := range r.gates {
		s.Sinks = append(s.Sinks, g.stats())
	}
	s.Alarms = r.alarms.list()
	return s
}

// leader is a relay while it holds the lease.
type leader struct {
	*Relay
	epoch int64
	// work ends when no new batch may start. sends ends Grace later. life ends when nothing
	// at all may be done: settleFor after sends, or when the lease is lost. When life ends,
	// the other two end as well.
	work, sends, life context.Context //nolint:containedctx // of one lease
	stop, cancel      context.CancelFunc
	loops             sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	valid   time.Time  // the lease holds at least until then, by this machine's monotonic clock
	topics  map[string]*topicLoop
	woken   chan struct{} // capacity 1: wakes the scanner
	feeding bool
}

// settleFor is how long a stopping relay tries to settle sent batches.
const settleFor = 5 * time.Second

// lead relays until ctx ends or the lease is lost.
func (r *Relay) lead(ctx context.Context, epoch int64, valid time.Time) {
	l := &leader{Relay: r, epoch: epoch, valid: valid, topics: make(map[string]*topicLoop), woken: make(chan struct{}, 1)}
	l.life, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer l.cancel()
	l.work, l.stop = context.WithCancel(l.life)
	defer l.stop()
	var abort context.CancelFunc
	l.sends, abort = context.WithCancel(l.life)
	defer abort()
	ended := context.AfterFunc(ctx, func() {
		l.stop()
		pause(l.life, r.c.Grace)
		abort()
		pause(l.life, settleFor)
		l.cancel()
	})
	defer ended()

	var helpers sync.WaitGroup
	helpers.Go(l.renew)
	if l.takeOver() {
		helpers.Go(l.upkeep)
		helpers.Go(l.wake)
		helpers.Go(l.feed)
		l.scan()
	}
	l.stop()
	l.mu.Lock()   // a loop that starts after this sees that the work has ended
	l.mu.Unlock() //nolint:staticcheck // it is a barrier
	l.loops.Wait()
	if l.life.Err() == nil || ctx.Err() != nil {
		release, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		if err := r.c.Store.Release(release, epoch); err != nil {
			r.c.Log.Warn("the lease could not be released; it will expire", "error", err)
		}
		done()
	}
	l.cancel()
	helpers.Wait()
}

// lost stops all work at once: another relay may hold the lease.
func (l *leader) lost(why string) {
	if l.life.Err() == nil {
		l.c.Log.Warn("the relay lost the lease", "epoch", l.epoch, "why", why)
	}
	l.cancel()
}

// renew renews the lease. If the database does not answer, it stops the work before the
// lease expires.
func (l *leader) renew() {
	for {
		pause(l.life, l.c.Lease/3)
		if l.life.Err() != nil {
			return
		}
		if err := l.renewOnce(); err != nil {
			if errors.Is(err, ErrFenced) {
				l.lost("another relay has taken over")
				return
			}
			l.alarms.set(alarmDatabase, "", err.Error())
		} else {
			l.alarms.clear(alarmDatabase)
			l.note()
		}
	}
}

// note stores the relay's statistics in the database, where other processes can read them.
func (l *leader) note() {
	if n, ok := l.c.Store.(Notebook); ok && l.life.Err() == nil {
		if err := n.Note(l.life, l.epoch, l.Stats()); err != nil && l.life.Err() == nil {
			l.c.Log.Warn("the relay's statistics could not be stored", "error", err)
		}
	}
}

func (l *leader) renewOnce() error {
	asked := time.Now()
	l.mu.Lock()
	valid := l.valid
	l.mu.Unlock()
	if !asked.Before(valid) {
		l.lost("it could not be renewed in time")
		return nil
	}
	ctx, cancel := context.WithDeadline(l.life, valid)
	defer cancel()
	var err error
	for {
		if _, err = l.c.Store.Renew(ctx, l.epoch, l.c.Lease); err == nil || errors.Is(err, ErrFenced) {
			break
		}
		if pause(ctx, 100*time.Millisecond); ctx.Err() != nil {
			if l.life.Err() == nil {
				l.lost(fmt.Sprintf("it could not be renewed in time: %v", err))
			}
			return err
		}
		asked = time.Now()
	}
	if err == nil {
		l.mu.Lock()
		l.valid = asked.Add(l.c.Lease)
		l.mu.Unlock()
	}
	return err
}

// overdue reports whether the lease may have expired, for example because this process was
// suspended. The relay does not settle batches that were in progress then.
func (l *leader) overdue() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !time.Now().Before(l.valid)
}

// store repeats an operation of the store until it succeeds, the relay is fenced, or ctx
// ends. It reports success.
func (l *leader) store(ctx context.Context, f func() error) bool {
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		if ctx.Err() != nil {
			return false
		}
		err := f()
		if err == nil {
			l.alarms.clear(alarmDatabase)
			return true
		}
		if errors.Is(err, ErrFenced) {
			l.lost("another relay has taken over")
			return false
		}
		if ctx.Err() != nil {
			return false
		}
		l.alarms.set(alarmDatabase, "", err.Error())
		pause(ctx, wait)
	}
}

// takeOver settles the flights that earlier relays left when they died: it counts an
// attempt against each event. Flights of this process's own earlier epochs do not count:
// the process lost its lease, for example because the database was unreachable, but did not
// die.
func (l *leader) takeOver() bool {
	var lost []Flight
	if !l.store(l.work, func() (err error) {
		lost, err = l.c.Store.Lost(l.work, l.epoch)
		return err
	}) {
		return false
	}
	for _, f := range lost {
		if l.led[f.Epoch] {
			if !l.settleLost(&Settlement{Flight: f.ID}) {
				return false
			}
			continue
		}
		done := l.blameAll(f, Evidence{
			Class:  "lost",
			Reason: fmt.Sprintf("the relay with epoch %d ended while this event was in flight with %d others", f.Epoch, len(f.Refs)-1),
		})
		if !l.settleLost(done) {
			return false
		}
		l.counts.lost(f.Topic, done)
		l.c.Log.Warn("an earlier relay ended with events in flight; they will be sent one by one", "topic", f.Topic, "events", len(f.Refs), "epoch", f.Epoch)
	}
	return true
}

func (l *leader) settleLost(done *Settlement) bool {
	return l.store(l.work, func() error {
		_, err := l.c.Store.Advance(l.work, l.epoch, done, nil)
		return err
	})
}
