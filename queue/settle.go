package queue

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/each"
)

// Delete ends a delivery well and deletes the message. In a standard queue it also works
// after the end of the lease, unless the message was received again (ErrReceiptStale, and
// the message stays). In a FIFO queue it is then ErrReceiptExpired. Deleting a deleted
// message is no error. If the worker counted as dead because its connection had closed,
// Delete revokes that, and the letter.
func (e *Engine) Delete(ctx context.Context, queue string, r Receipt) error {
	return one(e.DeleteBatch(ctx, queue, []Receipt{r}))
}

// DeleteBatch deletes many messages. It returns one result for each receipt.
func (e *Engine) DeleteBatch(ctx context.Context, queue string, receipts []Receipt) ([]error, error) {
	return e.settle(ctx, "delete from", queue, len(receipts), func(i int) Receipt { return receipts[i] },
		func(q Queue, _ Policy, at []int) ([]error, error) {
			picked := each.Of(at, func(n int) Receipt { return receipts[n] })
			results, err := e.store.Delete(ctx, q.ID, q.Settings.FIFO, picked)
			if err != nil {
				return nil, err
			}
			e.worked(ctx, &q, picked, results)
			e.alive(ctx, &q, picked)
			e.hub.ended(queue, q.Settings.FIFO)
			return results, nil
		})
}

// ChangeVisibility makes a lease end d from now. With 0 it ends at once: the message is
// received again, or set aside if its receives are used up. A lease lasts at most
// MaxVisibility from the receive, else the error is ErrVisibilityTotal. In a standard
// queue a call after the end of the lease is no error if nobody has received the message
// again, but the message stays visible.
func (e *Engine) ChangeVisibility(ctx context.Context, queue string, r Receipt, d time.Duration) error {
	return one(e.ChangeVisibilityBatch(ctx, queue, []VisibilityChange{{r, d}}))
}

// VisibilityChange is one entry of ChangeVisibilityBatch.
type VisibilityChange struct {
	Receipt    Receipt
	Visibility time.Duration
}

// ChangeVisibilityBatch changes many leases. It returns one result for each entry.
func (e *Engine) ChangeVisibilityBatch(ctx context.Context, queue string, in []VisibilityChange) ([]error, error) {
	return e.change(ctx, "change visibility in", queue, each.Of(in, func(c VisibilityChange) Change {
		return Change{Receipt: c.Receipt, For: c.Visibility}
	}))
}

// Reject moves the message to the dead-letter queue now. ErrNoDeadLetter means that there
// is no such queue, as for letters.
func (e *Engine) Reject(ctx context.Context, queue string, r Receipt, o Outcome) error {
	return one(e.change(ctx, "reject in", queue, []Change{{Receipt: r, Release: true, Dead: true, Outcome: clean(o)}}))
}

// Unreceive takes back deliveries that never reached their worker. The messages are
// visible again, and the receive does not count.
func (e *Engine) Unreceive(ctx context.Context, queue string, receipts []Receipt) ([]error, error) {
	return e.change(ctx, "give back to", queue, each.Of(receipts, func(r Receipt) Change {
		return Change{Receipt: r, Release: true, Refund: true}
	}))
}

// clean shortens what a worker reports, and replaces what some stores cannot hold.
func clean(o Outcome) *Outcome {
	bound := func(s string) string {
		s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
		return strings.ToValidUTF8(s[:min(len(s), maxReason)], "")
	}
	o.Failure, o.Reason, o.Detail = bound(o.Failure), bound(o.Reason), bound(o.Detail)
	o.Stderr = strings.ToValidUTF8(o.Stderr[max(len(o.Stderr)-MaxStderr, 0):], "\uFFFD")
	o.Stderr = strings.ReplaceAll(o.Stderr, "\x00", "\uFFFD")
	if over := len(o.Stderr) - MaxStderr; over > 0 {
		o.Stderr = strings.ToValidUTF8(o.Stderr[over:], "")
	}
	return &o
}

func (e *Engine) change(ctx context.Context, doing, queue string, changes []Change) ([]error, error) {
	for _, c := range changes {
		if c.For < 0 || c.For > MaxVisibility {
			return nil, invalid("%s queue %.100q: the time is %v, want 0 to %v", doing, queue, c.For, MaxVisibility)
		}
	}
	return e.settle(ctx, doing, queue, len(changes), func(i int) Receipt { return changes[i].Receipt },
		func(q Queue, p Policy, at []int) ([]error, error) {
			picked := each.Of(at, func(n int) Change { return changes[n] })
			results, err := e.store.Change(ctx, q.ID, p, picked)
			if err != nil {
				return nil, err
			}
			e.gaveBack(ctx, picked, results)
			e.hub.wake(queue)
			if p.DeadLetter != "" {
				e.hub.wake(p.DeadLetter)
			}
			return results, nil
		})
}

// settle refuses receipts of other queues and returns the results in the order of the receipts.
func (e *Engine) settle(ctx context.Context, doing, queue string, n int, receipt func(int) Receipt,
	do func(Queue, Policy, []int) ([]error, error),
) ([]error, error) {
	if n == 0 || n > MaxBatch {
		return nil, invalid("%s queue %.100q: %d entries are not 1 to %d", doing, queue, n, MaxBatch)
	}
	var results []error
	err := e.in(ctx, queue, func(q Queue) error {
		results = make([]error, n)
		var at []int
		for i := range n {
			if r := receipt(i); r.Queue != q.ID || r.Generation < 1 {
				results[i] = fmt.Errorf("%s queue %q: %w", doing, queue, ErrReceiptInvalid)
				continue
			}
			at = append(at, i)
		}
		if len(at) == 0 {
			return nil
		}
		policy, err := e.policy(ctx, q)
		if err != nil {
			return err
		}
		settled, err := do(q, policy, at)
		if err != nil {
			return err
		}
		for i, err := range settled {
			results[at[i]] = wrap(err, "%s queue %q", doing, queue)
		}
		return nil
	})
	if err != nil {
		return nil, wrap(err, "%s queue %.100q", doing, queue)
	}
	return results, nil
}

func one(results []error, err error) error {
	if err != nil {
		return err
	}
	return results[0]
}
