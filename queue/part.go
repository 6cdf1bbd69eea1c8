package queue

import (
	"cmp"
	"context"
	"fmt"
)

// PartInput is a part of a message, such as one row, that becomes a dead letter although
// the rest of the message is fine.
type PartInput struct {
	Body       []byte
	Attributes map[string]Attribute
	Group      string  // of the message; FIFO queues only
	Outcome    Outcome // what is wrong with it; not Done
	// Once names the part, for example by its message and its number. Parts with the same
	// name within DedupWindow are one letter, so that a second delivery of the message
	// adds none. "" means no name; at most 128 bytes.
	Once string
}

// SetAside makes dead letters of parts of messages of a queue, at most MaxBatch. The
// schema of the queue does not apply to them. Each can be redriven as a message of its
// own, and is judged then like any other. A faulty part is refused by itself. All other
// parts become letters together, or none of them if err is set. In a FIFO queue a part
// without a Group is a group of its own.
func (e *Engine) SetAside(ctx context.Context, queue string, in []PartInput) ([]SendResult, error) {
	if len(in) == 0 || len(in) > MaxBatch {
		return nil, invalid("set parts aside in queue %.100q: %d parts are not 1 to %d", queue, len(in), MaxBatch)
	}
	var results []SendResult
	err := e.in(ctx, queue, func(q Queue) error {
		results = make([]SendResult, len(in))
		var parts []Part
		var at []int
		r, err := e.rules.of(&q)
		if err != nil {
			e.complain(ctx, "compile the settings of queue "+q.Name, err)
		}
		for i := range in {
			part, err := in[i].prepare(&q.Settings)
			if err != nil {
				results[i].Err = fmt.Errorf("set a part aside in queue %q: %w", queue, err)
				continue
			}
			part.Payload = r.payload(&q.Settings.Quarantine, part.ID, part.Body, part.Attributes)
			parts, at = append(parts, part), append(at, i)
		}
		if len(parts) == 0 {
			return nil
		}
		p, err := e.policy(ctx, q)
		if err != nil {
			return err
		}
		sent, err := e.store.SetAside(ctx, q.ID, p, parts)
		if err != nil {
			return err
		}
		for i, s := range sent {
			results[at[i]].Sent = s
		}
		e.hub.wake(p.DeadLetter)
		return nil
	})
	if err != nil {
		return nil, wrap(err, "set parts aside in queue %.100q", queue)
	}
	return results, nil
}

func (in *PartInput) prepare(s *Settings) (Part, error) {
	p := Part{Entry: Entry{
		SendInput: SendInput{Body: in.Body, Attributes: in.Attributes, Group: in.Group},
		ID:        NewID(), FIFO: s.FIFO,
	}, Outcome: *clean(in.Outcome)}
	switch {
	case len(in.Once) > maxGroup || len(in.Group) > maxGroup:
		return p, invalid("Once or Group: longer than %d bytes", maxGroup)
	case !plain(in.Once, in.Group):
		return p, invalid("Once or Group: holds a NUL, or is no UTF-8")
	case in.Outcome.Class == 0:
		return p, invalid("Outcome: a part that is done is no dead letter")
	}
	if err := checkSize(s, p.SendInput); err != nil {
		return p, err
	}
	if s.FIFO {
		p.Dedup = p.ID
		p.Group = cmp.Or(p.Group, p.ID)
	}
	if in.Once != "" {
		p.DedupKey = "part\x00" + in.Once
	}
	return p, nil
}
