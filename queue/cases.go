package queue

import (
	"cmp"
	"context"
	"errors"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/poison"
)

// Payloads lists the cases of payloads of a queue, latest first: those in one state, or all if state is negative. limit is 1
// to MaxCases; 0 means 1,000.
func (e *Engine) Payloads(ctx context.Context, queue string, state, limit int) (cases []PayloadCase, err error) {
	limit = cmp.Or(limit, 1000)
	if limit < 0 || limit > MaxCases || state > int(poison.Quarantined) {
		return nil, invalid("list payloads of queue %.100q: limit is %d, want 0 to %d, or state: %d is unknown", queue, limit, MaxCases, state)
	}
	err = e.in(ctx, queue, func(q Queue) (err error) {
		cases, err = e.store.Cases(ctx, q.ID, state, limit)
		return err
	})
	return cases, wrap(err, "list payloads of queue %.100q", queue)
}

// Pardon forgets everything about a payload: its copies are delivered as if nothing had
// happened. An unknown payload is no error.
func (e *Engine) Pardon(ctx context.Context, queue string, payload bezoar.Fingerprint) error {
	err := e.in(ctx, queue, func(q Queue) error {
		return e.store.ChangeCase(ctx, q.ID, payload, func(*poison.Case, int64) *poison.Case { return nil })
	})
	if err == nil {
		e.hub.wake(queue) // copies waited
	}
	return wrap(err, "pardon a payload of queue %.100q", queue)
}

// Accuse makes a body suspect in every queue whose Settings.SameAs names the fleet of the
// gateway that convicted it: the copies are then delivered alone. It returns the number of
// queues that know it now.
func (e *Engine) Accuse(ctx context.Context, fleet string, body []byte, class bezoar.Class, reason string) (int, error) {
	if fleet == "" || len(body) > MaxBytes {
		return 0, invalid("accuse a body: no fleet, or %d bytes are more than %d", len(body), MaxBytes)
	}
	o := clean(Outcome{Class: class, Reason: reason})
	accused := 0
	var faults []error
	for after := ""; ; {
		queues, err := e.store.Queues(ctx, ListQuery{After: after})
		if err != nil {
			return accused, wrap(err, "accuse a body of fleet %.100q", fleet)
		}
		if len(queues) == 0 {
			break
		}
		for i := range queues {
			q := &queues[i]
			after = q.Name
			if q.Settings.SameAs != fleet {
				continue
			}
			done, err := e.accuse(ctx, q, body, o)
			if done {
				accused++
			}
			if err != nil && !errors.Is(err, ErrQueueNotFound) {
				faults = append(faults, wrap(err, "accuse a body in queue %q", q.Name))
			}
		}
	}
	return accused, errors.Join(faults...)
}

func (e *Engine) accuse(ctx context.Context, q *Queue, body []byte, o *Outcome) (bool, error) {
	r, err := e.rules.of(q)
	if err != nil {
		e.complain(ctx, "compile the settings of queue "+q.Name, err)
	}
	if len(body) < q.Settings.Quarantine.MinBytes {
		return false, nil
	}
	payload := r.payload(&q.Settings.Quarantine, "", body, nil)
	if payload.IsZero() {
		return false, nil
	}
	p := q.Settings.Quarantine.Poison()
	err = e.store.ChangeCase(ctx, q.ID, payload, func(c *poison.Case, now int64) *poison.Case {
		return p.Accuse(c, o.Class, o.Reason, now)
	})
	return err == nil, err
}
