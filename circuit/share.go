package circuit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/policy/breaker"
)

const (
	// markFor is how long a mark is kept that nobody touches, beyond the end of
	// an override. A node that still has the breaker writes it again.
	markFor = 7 * 24 * time.Hour
	// storeFor is how long one call of the store may take in the background.
	storeFor = 5 * time.Second
)

// put writes a snapshot over a version of the mark. It returns what the mark
// says then: s, or with ErrConflict something else.
func (c *Circuits) put(ctx context.Context, key string, version int64, s breaker.Snapshot) (now int64, says breaker.Snapshot, err error) {
	doc, err := json.Marshal(s)
	if err != nil {
		return 0, s, err
	}
	ttl := max(markFor, markFor+time.Until(s.Forced.Until))
	stored, err := c.config.Store.PutMark(ctx, Mark{Key: key, Version: version, Doc: doc, TTL: ttl})
	if errors.Is(err, ErrConflict) {
		return stored.Version, c.decode(stored), err
	}
	return stored.Version, s, err
}

// decode reads a mark. One that cannot be read says nothing, and is written
// over as soon as this node knows anything.
func (c *Circuits) decode(m Mark) (s breaker.Snapshot) {
	if len(m.Doc) == 0 {
		return s
	}
	if err := json.Unmarshal(m.Doc, &s); err != nil {
		c.config.Log.Warn("the stored state of a circuit breaker cannot be read", "mark", m.Key, "version", m.Version, "error", err)
		return breaker.Snapshot{}
	}
	return s
}

// push writes what b says into its mark, or takes from that what is newer,
// until both say the same.
func (c *Circuits) push(ctx context.Context, b *Breaker) error {
	for range maxSwaps {
		b.mu.Lock()
		version, mine, idle := b.version, b.policy.Snapshot(), b.claim != nil || !b.dirty
		b.mu.Unlock()
		if idle {
			return nil // a claim tells when it is over
		}
		now, says, err := c.put(ctx, b.key, version, mine)
		if err != nil && !errors.Is(err, ErrConflict) {
			return fmt.Errorf("tell other nodes about circuit breaker %s: %w", b.name, err)
		}
		b.mu.Lock()
		told := b.heard(now, says, err)
		b.mu.Unlock()
		if told {
			return nil
		}
	}
	return fmt.Errorf("tell other nodes about circuit breaker %s: %w", b.name, ErrConflict)
}

// heard takes the answer to a put, and reports whether there is nothing left to
// tell. The caller holds the lock.
func (b *Breaker) heard(version int64, says breaker.Snapshot, err error) (told bool) {
	c := b.circuits
	switch {
	case b.removed: // while its mark was on the way
		c.mu.Lock()
		if c.breakers[b.name] == nil {
			c.bury(b)
		}
		c.mu.Unlock()
		return true
	case err == nil:
		b.hear(version, says)
	default:
		now := time.Now()
		b.policy.Merge(now, says)
		b.hear(version, says)
		b.look(now, true)
	}
	return !b.dirty
}

// Sync reads once what other nodes know. Call it at the start of a process, before the
// first call, so that overrides hold at once. Run continues with it.
func (c *Circuits) Sync(ctx context.Context) error {
	if c.config.Store == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeFor)
	defer cancel()
	all := c.all() // of one that is made later, that it is missing says nothing
	marks, err := c.config.Store.Marks(ctx, prefix)
	if err != nil {
		err = fmt.Errorf("read what other nodes know of circuit breakers: %w", err)
		if !errors.Is(ctx.Err(), context.Canceled) {
			c.complain(err)
		}
		return err
	}
	c.learn(time.Now(), all, marks)
	return nil
}

// learn takes from marks, which are all that there are, what is newer.
func (c *Circuits) learn(now time.Time, all []*Breaker, marks []Mark) {
	stored := make(map[string]Mark, len(marks))
	for _, m := range marks {
		stored[m.Key] = m
	}
	for _, b := range all {
		b.learn(now, stored[b.key])
	}
	c.mu.Lock()
	c.read = now
	told := len(c.unwritten) == 0 && len(c.gone) == 0
	c.mu.Unlock()
	if !told {
		poke(c.wake)
	} else if c.down.CompareAndSwap(true, false) {
		c.config.Log.Info("the store of circuit breakers is there again")
	}
}

// learn takes from a mark what is newer. The zero mark is one that is not
// there: nobody has anything to say, or its time was over.
func (b *Breaker) learn(now time.Time, m Mark) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.removed {
		return
	}
	b.look(now, false) // an override that has expired is no news of others
	if m.Version == 0 || m.Version > b.version {
		was := b.circuits.decode(m)
		b.policy.Merge(now, was)
		b.hear(m.Version, was)
		if b.dirty {
			b.tell()
		}
	}
	b.look(now, true)
}

// complain logs a store's first failure, and counts all.
func (c *Circuits) complain(err error) {
	c.errors.Add(1)
	if c.down.CompareAndSwap(false, true) {
		c.config.Log.Warn("circuit breakers are on their own: the store fails", "error", err)
	}
}
