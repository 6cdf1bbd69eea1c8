package circuit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxEvents bounds the events that wait for Observe.
	maxEvents = 1024
	// writers is how many marks are written at the same time.
	writers = 4
	// idlePoll is how often poll looks for something to do while there are no breakers. A new breaker wakes it.
	idlePoll = 30 * time.Second
)

// Run keeps the breakers of all nodes in step, and calls Observe, until ctx ends. Without
// it each breaker works alone.
func (c *Circuits) Run(ctx context.Context) error {
	var all sync.WaitGroup
	all.Go(func() { c.observe(ctx) })
	all.Go(func() { c.poll(ctx) })
	all.Go(func() { c.writeMarks(ctx) })
	all.Wait()
	return nil
}

// poll reads the store while there are breakers, and notices overrides that have expired.
func (c *Circuits) poll(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-c.nudge:
		}
		all := c.all()
		if !c.idle() {
			_ = c.Sync(ctx) // counted and logged there
		}
		now := time.Now()
		for _, b := range all {
			b.mu.Lock()
			b.look(now, false)
			b.mu.Unlock()
		}
		every := c.config.Poll
		if c.idle() {
			every = max(every, idlePoll)
		}
		// Jittered, so that nodes that started together do not read together.
		timer.Reset(every - rand.N(every/5))
	}
}

// idle reports whether there are no breakers and nothing to tell the store.
func (c *Circuits) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.breakers)+len(c.unwritten)+len(c.gone) == 0 && !c.writing
}

// writeMarks tells the store what it does not know. After a failure it waits until
// the store has been read, or something else is to be told.
func (c *Circuits) writeMarks(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
			c.writeAll(ctx)
		}
	}
}

// storeOp is something to write: what a breaker says, or that there is none of
// that name any more.
type storeOp struct {
	b         *Breaker // nil: delete the mark
	key, name string
}

// writeAll runs all store operations that there are. The first that fails ends the round,
// so that a store that hangs is asked a few times and not thousands.
func (c *Circuits) writeAll(ctx context.Context) {
	c.mu.Lock()
	ops := make([]storeOp, 0, len(c.unwritten)+len(c.gone))
	for b := range c.unwritten {
		ops = append(ops, storeOp{b, b.key, b.name})
	}
	for key, name := range c.gone {
		ops = append(ops, storeOp{nil, key, name})
	}
	clear(c.unwritten)
	clear(c.gone)
	c.writing = true
	c.mu.Unlock()

	round, stop := context.WithCancel(ctx)
	defer stop()
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(writers, len(ops)) {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(ops) {
					return
				}
				if err := c.runOp(round, ops[i]); err != nil {
					c.retryLater(ops[i])
					if round.Err() == nil && !errors.Is(err, ErrConflict) {
						c.complain(err)
						stop()
					}
				}
			}
		})
	}
	all.Wait()
	c.mu.Lock()
	c.writing = false
	c.mu.Unlock()
}

func (c *Circuits) runOp(ctx context.Context, e storeOp) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, storeFor)
	defer cancel()
	if e.b != nil {
		return c.push(ctx, e.b)
	}
	if c.get(e.name) != nil {
		return nil // there is one again
	}
	if err := c.config.Store.DeleteMark(ctx, e.key, 0); err != nil {
		return fmt.Errorf("delete the mark of circuit breaker %s: %w", e.name, err)
	}
	return nil
}

// retryLater has an operation run again when the store has been read.
func (c *Circuits) retryLater(e storeOp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	there := c.breakers[e.name]
	switch {
	case e.b == nil && there == nil && len(c.gone) < c.config.Max:
		c.gone[e.key] = e.name
	case e.b != nil && there == e.b:
		c.unwritten[e.b] = struct{}{}
	}
}

// report has Observe told, unless it is too slow.
func (c *Circuits) report(e Event) {
	if c.config.Observe == nil {
		return
	}
	select {
	case c.events <- e:
	default:
		c.dropped.Add(1)
	}
}

// observe tells Observe, at the end also what was waiting.
func (c *Circuits) observe(ctx context.Context) {
	for {
		select {
		case e := <-c.events:
			c.config.Observe(e)
		case <-ctx.Done():
			for {
				select {
				case e := <-c.events:
					c.config.Observe(e)
				default:
					return
				}
			}
		}
	}
}
