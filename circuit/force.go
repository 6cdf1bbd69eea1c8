package circuit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/policy/breaker"
)

// Force keeps a breaker open or closed until a time, on all nodes. A time that is not in
// the future ends an override. by names the person who wants it. Force waits until the
// store has it, for 5 s at most. After an error the override holds on this node, and the
// others get it when the store is back. The newest order wins.
func (c *Circuits) Force(ctx context.Context, name string, s breaker.State, until time.Time, by string) error {
	b := c.get(name)
	if b == nil {
		return fmt.Errorf("force circuit breaker %.255s: %w", name, ErrUnknown)
	}
	ctx, cancel := context.WithTimeout(ctx, storeFor)
	defer cancel()
	if err := b.lockIdle(ctx); err != nil {
		return fmt.Errorf("force circuit breaker %s: %w", name, err)
	}
	err := b.order(s, until, by)
	b.mu.Unlock()
	if err != nil {
		return fmt.Errorf("circuit breaker %s: %w", name, err)
	}
	if c.config.Store == nil {
		return nil
	}
	if err := b.force(ctx, s, until, by); err != nil {
		b.mu.Lock()
		b.tell()
		b.mu.Unlock()
		c.complain(err)
		return fmt.Errorf("force circuit breaker %s: it is so here, but other nodes are not told yet: %w", name, err)
	}
	return nil
}

// order makes an override. The caller holds the lock.
func (b *Breaker) order(s breaker.State, until time.Time, by string) error {
	now := time.Now()
	if err := b.policy.Force(now, s, until, by); err != nil {
		return err
	}
	b.dirty = b.shared()
	b.look(now, false)
	return nil
}

// force writes the override that was ordered, and orders it again when another
// node has ordered something that this one had not heard of.
func (b *Breaker) force(ctx context.Context, s breaker.State, until time.Time, by string) error {
	for range maxSwaps {
		if err := b.lockIdle(ctx); err != nil {
			return err
		}
		version, mine, removed := b.version, b.policy.Snapshot(), b.removed
		b.mu.Unlock()
		if removed {
			return ErrUnknown
		}
		stored, says, err := b.circuits.put(ctx, b.key, version, mine)
		if err != nil && !errors.Is(err, ErrConflict) {
			return err
		}
		if err := b.lockIdle(ctx); err != nil {
			return err
		}
		told := b.heard(stored, says, err)
		done := says.Forced == mine.Forced
		if !done && says.Forced.Serial >= mine.Forced.Serial {
			_ = b.order(s, until, by) // was possible the first time
		} else if !told {
			b.tell()
		}
		b.mu.Unlock()
		if done {
			return nil
		}
	}
	return ErrConflict
}

// lockIdle locks b when no claim is under way.
func (b *Breaker) lockIdle(ctx context.Context) error {
	for {
		b.mu.Lock()
		over := b.claim
		if over == nil {
			return nil
		}
		b.mu.Unlock()
		select {
		case <-over:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
