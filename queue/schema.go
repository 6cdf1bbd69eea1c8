package queue

import (
	"context"
	"fmt"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/queue/schema"
)

// schemaRounds bounds how often one receive asks for messages that its queue's schema allows.
const schemaRounds = 8

// admits checks a body before it is sent.
func (r *rules) admits(s *Settings, body []byte) error {
	if r.schema == nil || s.SchemaCheck == CheckDeadLetter {
		return nil
	}
	if v := r.check(body); v != nil {
		return fmt.Errorf("Body: %s at %s: %s: %w", v.Rule, v.Path, v.Message, ErrSchema)
	}
	return nil
}

// check checks a body against the schema. It waits for its turn.
func (r *rules) check(body []byte) *schema.Violation {
	r.turns <- struct{}{}
	defer func() { <-r.turns }()
	return r.schema.Check(body)
}

// sift sets aside messages that are damaged or that the queue's schema does not allow, and returns the others.
func (e *Engine) sift(ctx context.Context, q *Queue, r *rules, messages []Message) ([]Message, error) {
	var changes, hidden []Change
	kept := messages[:0]
	for i := range messages {
		m := &messages[i]
		o := r.fault(&q.Settings, m)
		switch {
		case o == nil:
			kept = append(kept, *m)
		case m.Letter != nil: // it is in a dead-letter queue already and stays there, where people see it
			hidden = append(hidden, Change{Receipt: m.Receipt, Release: true, Withheld: true, Refund: true, For: MaxVisibility})
		default: // a bad disk says nothing about the payload
			changes = append(changes, Change{Receipt: m.Receipt, Release: true, Withheld: true, Dead: true, Refund: m.Damaged, Outcome: clean(*o)})
		}
		if m.Damaged {
			e.config.Log.Error("a message is damaged in the store: it is not delivered", "queue", q.Name, "id", m.ID)
		}
	}
	if len(changes)+len(hidden) == 0 {
		return kept, nil
	}
	p, err := e.policy(ctx, *q)
	if err != nil {
		return nil, err
	}
	if err := e.setAside(ctx, q, p, changes); err != nil {
		return nil, err
	}
	e.hub.wake(p.DeadLetter)
	p.FIFO = false // its group must not wait for it: it would wait for ever
	return kept, e.setAside(ctx, q, p, hidden)
}

// setAside applies changes to messages that must not be delivered.
func (e *Engine) setAside(ctx context.Context, q *Queue, p Policy, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	results, err := e.store.Change(ctx, q.ID, p, changes)
	if err != nil {
		return err
	}
	for _, err := range results {
		switch CodeOf(err) {
		case "", ErrNoSpace, ErrNoAnswer: // the store failed
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// fault returns why a message must not be delivered, or nil. Dead letters are delivered unless they are damaged.
func (r *rules) fault(s *Settings, m *Message) *Outcome {
	if m.Damaged {
		return &Outcome{Class: bezoar.Invalid, Failure: "damaged", Reason: "not delivered: its body or its attributes have changed in the store, as by a bad disk or memory"}
	}
	if r.schema == nil || s.SchemaCheck != CheckDeadLetter || m.Letter != nil {
		return nil
	}
	v := r.check(m.Body)
	if v == nil {
		return nil
	}
	return &Outcome{
		Class: bezoar.Invalid, Failure: "schema:" + v.Rule + "@" + v.Where,
		Reason: fmt.Sprintf("the body violates the queue's schema: %s at %s: %s", v.Rule, v.Path, v.Message),
	}
}
