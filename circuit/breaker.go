package circuit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/policy/breaker"
)

// maxSwaps bounds the attempts to write one mark against other nodes.
const maxSwaps = 5

// Breaker guards one downstream. It is safe for concurrent use.
type Breaker struct {
	circuits  *Circuits
	name, key string

	// pass is the ticket of all calls while the breaker is closed and nobody
	// holds it so; nil: ask the policy.
	pass atomic.Pointer[breaker.Ticket]

	mu      sync.Mutex // guards what follows; never held while waiting
	policy  breaker.Breaker
	seen    breaker.Snapshot // as look saw it last
	state   breaker.State    // likewise, with the override
	since   time.Time        // of state
	version int64            // of the mark: nothing that it said is news; 0: there was none
	claim   chan struct{}    // closed when the claim under way is over; nil: none is
	dirty   bool             // the store does not say what policy says
	removed bool
}

func newBreaker(c *Circuits, name, key string, cfg breaker.Config) *Breaker {
	now := time.Now()
	b := &Breaker{circuits: c, name: name, key: key, since: now, policy: breaker.Breaker{Config: cfg}}
	b.renewPass(now)
	return b
}

// Name returns the name of the breaker.
func (b *Breaker) Name() string { return b.name }

// Allow asks whether a call may be made. Pass the ticket of an allowed call to Done, once.
// Only the first call after a trip waits for the store, for Config.ClaimFor at most, even
// if ctx ends.
func (b *Breaker) Allow(ctx context.Context, now time.Time) (breaker.Ticket, breaker.Decision) {
	if t := b.pass.Load(); t != nil {
		return *t, breaker.Decision{Allowed: true}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t, d := b.policy.Allow(now)
	remote := false
	if d.Probe && d.Changed && b.shared() && b.claim == nil {
		t, d = b.claimed(ctx, now, t, d)
		remote = !d.Probe
	} else if d.Changed {
		b.tell()
	}
	b.look(now, remote)
	return t, d
}

// Done takes the result of an allowed call. The package comment says which results to mark
// as Ignored.
func (b *Breaker) Done(now time.Time, t breaker.Ticket, r breaker.Result) {
	random := rand.Float64()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.policy.Done(now, t, r, random) {
		b.tell()
		b.look(now, false)
	}
}

func (b *Breaker) shared() bool { return b.circuits.config.Store != nil && !b.removed }

// claimed asks the store whether this node may send the probe d. Meanwhile the
// policy lets no other call pass, and nothing else is told: what is merged then
// moves b.version past other nodes' claims, which this one must not write over.
// The caller holds the lock, which is released while waiting.
func (b *Breaker) claimed(ctx context.Context, now time.Time, t breaker.Ticket, d breaker.Decision) (breaker.Ticket, breaker.Decision) {
	c, began := b.circuits, time.Now()
	over := make(chan struct{})
	b.claim = over
	defer func() {
		b.claim = nil
		close(over)
		if b.dirty {
			b.tell() // what could not be told meanwhile
		}
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.config.ClaimFor)
	defer cancel()
	for range maxSwaps {
		version, mine := b.version, b.policy.Snapshot()
		b.mu.Unlock()
		stored, says, err := c.put(ctx, b.key, version, mine)
		b.mu.Lock()
		at := now.Add(time.Since(began))
		switch {
		case err == nil, errors.Is(err, ErrConflict) && says == mine: // the latter by a store that tried twice
			b.hear(stored, says)
		case errors.Is(err, ErrConflict): // another node was faster
			b.policy.Concede(at, t, says)
			b.hear(stored, says)
		default: // a store that is not there is no reason to stand still
			c.alone.Add(1)
			c.complain(fmt.Errorf("claim the probe of circuit breaker %s: %w", b.name, err))
			b.dirty = true
		}
		if b.policy.Snapshot() == mine {
			return t, d
		}
		if t, d = b.policy.Allow(at); !d.Probe || !d.Changed {
			b.dirty = b.dirty || d.Changed
			return t, d
		}
	}
	b.policy.Concede(now, t, breaker.Snapshot{})
	return breaker.Ticket{}, breaker.Decision{RetryAfter: c.config.Poll, Reason: "the circuit is half-open: other nodes try it"}
}

// hear notes what the mark says now.
func (b *Breaker) hear(version int64, stored breaker.Snapshot) {
	b.version = version
	b.dirty = b.policy.Snapshot() != stored
}

// tell has the others told what the policy says, in the background.
func (b *Breaker) tell() {
	if b.dirty = b.shared(); !b.dirty {
		return
	}
	c := b.circuits
	c.mu.Lock()
	c.unwritten[b] = struct{}{}
	c.mu.Unlock()
	poke(c.wake)
}

// look notices whether anything has changed, lets calls pass or stops them, and
// says so. What a claim changes is noticed when it is over. The caller holds the
// lock.
func (b *Breaker) look(now time.Time, remote bool) {
	if b.claim != nil {
		return
	}
	is := b.policy.Snapshot()
	state := is.State
	if now.Before(is.Forced.Until) {
		state = is.Forced.State
	}
	if is == b.seen && state == b.state {
		return
	}
	from := b.state
	if state != from {
		b.since = now
	}
	b.seen, b.state = is, state
	b.renewPass(now)
	b.circuits.report(Event{Status: b.describe(now), At: now, From: from, Remote: remote})
}

// renewPass lets calls pass without asking the policy if it would let them.
func (b *Breaker) renewPass(now time.Time) {
	is := b.policy.Snapshot()
	if is.State != breaker.Closed || now.Before(is.Forced.Until) {
		b.pass.Store(nil)
		return
	}
	t, _ := b.policy.Allow(now) // changes nothing, and is the same for all calls
	b.pass.Store(&t)
}
