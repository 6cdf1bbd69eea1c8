package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// combiner lets calls that arrive while others are running share a statement, and so a
// commit. A call without others runs at once, alone.
type combiner[K comparable, In, Out any] struct {
	weight func(In) int
	// do runs several calls together. alone runs one call with its own context; it is also
	// used if do reports that calls cannot run together.
	do    func(context.Context, K, []In) (out []Out, together bool, err error)
	alone func(context.Context, K, In) (Out, error)
	// lost undoes the work of a call whose caller has left; nil: the work stays.
	lost func(K, Out) error

	mu    sync.Mutex // guards lines
	lines map[K]*line[In, Out]
}

// line holds the waiting calls with one key, and the number of running statements.
type line[In, Out any] struct {
	running int
	waiting []*call[In, Out]
}

type call[In, Out any] struct {
	ctx  context.Context //nolint:containedctx // of one call
	in   In
	done chan struct{}
	out  Out
	err  error
}

// Limits of combining.
const (
	maxRunning     = 1    // concurrent statements with one key; more would each do less
	maxTogether    = 1024 // total weight of the calls
	maxTogetherFor = 30 * time.Second
)

// run returns the call's own result. If its context ends first, the work may or may not
// happen.
func (c *combiner[K, In, Out]) run(ctx context.Context, key K, in In) (Out, error) {
	if err := ctx.Err(); err != nil {
		var none Out
		return none, err
	}
	one := &call[In, Out]{ctx: ctx, in: in, done: make(chan struct{})}
	c.mu.Lock()
	if c.lines == nil {
		c.lines = make(map[K]*line[In, Out])
	}
	l := c.lines[key]
	if l == nil {
		l = new(line[In, Out])
		c.lines[key] = l
	}
	if l.running < maxRunning {
		l.running++
		c.mu.Unlock()
		one.out, one.err = c.alone(ctx, key, in)
		c.next(key, l)
		return one.out, one.err
	}
	l.waiting = append(l.waiting, one)
	c.mu.Unlock()
	select {
	case <-one.done:
		return one.out, one.err
	case <-ctx.Done():
		go func() {
			if <-one.done; one.err == nil && c.lost != nil {
				_ = c.lost(key, one.out) // if it fails, the work stays
			}
		}()
		var none Out
		return none, ctx.Err()
	}
}

// next runs the calls that arrived in the meantime, in parallel with the caller that just
// got its result.
func (c *combiner[K, In, Out]) next(key K, l *line[In, Out]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch := l.take(c.weight)
	if len(batch) == 0 {
		if l.running--; l.running == 0 {
			delete(c.lines, key)
		}
		return
	}
	go func() {
		c.serve(key, batch)
		c.next(key, l)
	}()
}

// take removes the first calls that can run together.
func (l *line[In, Out]) take(weight func(In) int) (batch []*call[In, Out]) {
	sum := 0
	for len(l.waiting) > 0 {
		one := l.waiting[0]
		if sum += weight(one.in); len(batch) > 0 && sum > maxTogether {
			break
		}
		batch, l.waiting = append(batch, one), l.waiting[1:]
	}
	return batch
}

func (c *combiner[K, In, Out]) serve(key K, batch []*call[In, Out]) {
	together := len(batch) > 1
	if together {
		ins := make([]In, len(batch))
		for i := range batch {
			ins[i] = batch[i].in
		}
		// A leaving caller must not cancel the others.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(batch[0].ctx), maxTogetherFor)
		out, ok, err := c.do(ctx, key, ins)
		cancel()
		_, refused := errors.AsType[*pgconn.PgError](err)
		if together = ok || err != nil && !refused; together {
			for i, one := range batch {
				if one.err = err; err == nil {
					one.out = out[i]
				}
				close(one.done)
			}
		}
	}
	if !together {
		// One call may be at fault, or a decision is necessary. Nothing has happened yet.
		for _, one := range batch {
			if one.err = one.ctx.Err(); one.err == nil {
				one.out, one.err = c.alone(one.ctx, key, one.in)
			}
			close(one.done)
		}
	}
}
