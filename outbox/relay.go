package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Relay delivers the events of one outbox. Several may run, on several machines:
// the one that holds the lease works, and the others wait for it.
type Relay struct {
	c      Config
	gates  []*gate // of c.Sinks
	counts *counts
	alarms *alarms
	cache  *cache
	led    map[int64]bool // epochs of this process; of Run alone
}

// New returns a relay that has not begun.
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

// Run relays until ctx ends. It waits for the lease while another relay has it,
// and for the database while it is away. When ctx ends, batches under way have
// Grace to end; then it releases the lease and returns nil.
func (r *Relay) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		asked := time.Now()
		lease, err := r.c.Store.Acquire(ctx, r.c.Owner, r.c.Lease)
		switch {
		case err == nil:
			r.alarms.clear(alarmNoOwner, alarmDatabase)
			r.counts.owner(lease, true)
			r.c.Log.Info("the relay has the lease", "epoch", lease.Epoch)
			r.led[lease.Epoch] = true
			r.lead(ctx, lease.Epoch, asked.Add(r.c.Lease))
			r.counts.led()
		case errors.Is(err, ErrHeld):
			r.alarms.clear(alarmNoOwner, alarmDatabase)
			r.counts.owner(lease, false)
			pause(ctx, min(lease.Left+10*time.Millisecond, r.c.Lease/3))
		case ctx.Err() == nil:
			r.alarms.set(alarmNoOwner, "", fmt.Sprintf("this relay cannot ask for the lease: %v", err))
			pause(ctx, min(time.Second, r.c.Lease/3))
		}
	}
	return nil
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// route finds the sink of a topic; ok is false if none wants it.
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

// Stats says what the relay did and how it is.
func (r *Relay) Stats() Stats {
	s := r.counts.stats()
	for _, g := range r.gates {
		s.Sinks = append(s.Sinks, g.stats())
	}
	s.Alarms = r.alarms.list()
	return s
}

// leader is a relay while it has the lease.
type leader struct {
	*Relay
	epoch int64
	// work ends when batches must not begin any more, sends a Grace later. life ends
	// when nothing may be done any more: some time after that, or when the lease is
	// lost; the others end with it.
	work, sends, life context.Context //nolint:containedctx // of one lease
	stop, cancel      context.CancelFunc
	loops             sync.WaitGroup

	mu      sync.Mutex // guards what follows
	valid   time.Time  // by this machine's monotonic clock: the lease holds at least until then
	topics  map[string]*topicLoop
	woken   chan struct{} // capacity 1: the scanner looks at once
	feeding bool
}

// settleFor is how long a stopped relay tries to settle what it has sent.
const settleFor = 5 * time.Second

// lead works until ctx ends or the lease is lost.
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
	l.mu.Lock()   // whoever starts a loop now sees that the work has ended
	l.mu.Unlock() //nolint:staticcheck // it is a barrier
	l.loops.Wait()
	if l.life.Err() == nil || ctx.Err() != nil {
		release, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		if err := r.c.Store.Release(release, epoch); err != nil {
			r.c.Log.Warn("the lease was not released; it ends by itself", "error", err)
		}
		done()
	}
	l.cancel()
	helpers.Wait()
}

// lost ends the work at once: another relay may have the lease.
func (l *leader) lost(why string) {
	if l.life.Err() == nil {
		l.c.Log.Warn("the relay has lost the lease", "epoch", l.epoch, "why", why)
	}
	l.cancel()
}

// renew keeps the lease. Without an answer the work ends before the lease does.
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

// note keeps what the relay did where people find it without this process.
func (l *leader) note() {
	if n, ok := l.c.Store.(Notebook); ok && l.life.Err() == nil {
		if err := n.Note(l.life, l.epoch, l.Stats()); err != nil && l.life.Err() == nil {
			l.c.Log.Warn("the database does not know what the relay did", "error", err)
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

// overdue reports whether the lease may be over, as after this process was stopped
// for a while. What was sent since is not settled.
func (l *leader) overdue() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !time.Now().Before(l.valid)
}

// store does an operation of the store until it works, the work is fenced or ctx
// ends. It reports whether it worked.
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

// takeOver settles what former relays had in flight when they died: it counts
// against each of these events. Those of this process have not killed it: it lost
// its lease, as when the database was away.
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
		l.c.Log.Warn("a former relay ended with events in flight; they are sent one by one", "topic", f.Topic, "events", len(f.Refs), "epoch", f.Epoch)
	}
	return true
}

func (l *leader) settleLost(done *Settlement) bool {
	return l.store(l.work, func() error {
		_, err := l.c.Store.Advance(l.work, l.epoch, done, nil)
		return err
	})
}
