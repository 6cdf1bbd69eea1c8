package queue

import (
	"context"
	"maps"
)

// EditInput changes a message that waits in a queue.
type EditInput struct {
	Body []byte               // nil: unchanged
	Set  map[string]Attribute // added to the attributes, replacing those with the same names
}

// EditMessage changes a waiting message by its sequence number. The message keeps its ID
// and counts as never received. A message in flight is not changed (ErrConflict), nor is a
// dead letter: see Engine.Resend. It returns the ID of the message.
func (e *Engine) EditMessage(ctx context.Context, name string, sequence int64, in EditInput) (id string, err error) {
	err = e.amend(ctx, name, sequence, &id, func(q *Queue, m *Message) (a Amendment, err error) {
		message := SendInput{Body: m.Body, Attributes: m.Attributes, System: m.System, Group: m.Group, Dedup: m.Dedup, Sender: m.Sender}
		if in.Body != nil {
			message.Body = in.Body
		} else if m.Damaged {
			return a, invalid("Body: it is damaged in the store, so that it has to be written anew")
		}
		if len(in.Set) > 0 {
			message.Attributes = maps.Clone(m.Attributes)
			if message.Attributes == nil {
				message.Attributes = map[string]Attribute{}
			}
			maps.Copy(message.Attributes, in.Set)
		}
		r, err := e.rules.of(q)
		if err != nil {
			e.complain(ctx, "compile the settings of queue "+q.Name, err)
		}
		if a.Entry, err = prepare(&q.Settings, &r, message); err == nil {
			a.Entry.Payload = r.payload(&q.Settings.Quarantine, m.ID, message.Body, message.Attributes)
		}
		return a, err
	})
	if err == nil {
		e.hub.wake(name)
	}
	return id, wrap(err, "edit message %d of queue %.100q", sequence, name)
}

// DeleteMessage deletes a waiting message by its sequence number. With force it also
// deletes a message in flight; its worker is not told. It returns the ID of the message.
func (e *Engine) DeleteMessage(ctx context.Context, name string, sequence int64, force bool) (id string, err error) {
	err = e.amend(ctx, name, sequence, &id, func(*Queue, *Message) (Amendment, error) {
		return Amendment{Delete: true, Force: force}, nil
	})
	return id, wrap(err, "delete message %d of queue %.100q", sequence, name)
}

func (e *Engine) amend(ctx context.Context, name string, sequence int64, id *string, change func(q *Queue, m *Message) (Amendment, error)) error {
	return e.in(ctx, name, func(q Queue) error {
		found, err := e.store.Peek(ctx, q.ID, sequence-1, 1)
		if err != nil {
			return err
		}
		if len(found) == 0 || found[0].Sequence != sequence {
			return ErrMessageGone
		}
		m := &found[0]
		*id = m.ID
		a, err := change(&q, m)
		if err != nil {
			return err
		}
		a.Sequence, a.ID = sequence, m.ID
		return e.store.Amend(ctx, q.ID, a)
	})
}
