package sinks

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/each"
	"github.com/bezoar-dev/bezoar/internal/outbox/outgoing"
	"github.com/bezoar-dev/bezoar/outbox"
	"github.com/bezoar-dev/bezoar/queue"
)

// Queue is the part of queue.Engine that a sink needs.
type Queue interface {
	Queue(ctx context.Context, name string) (queue.Queue, error)
	SendBatch(ctx context.Context, name string, in []queue.SendInput) ([]queue.SendResult, error)
}

// queueSink sends to a queue of the same Bezoar. In a FIFO queue, the key becomes the
// message group and the event's ID the deduplication ID.
type queueSink struct {
	to     Queue
	name   string
	source string
}

// sender is the sender's name for display.
const sender = "outbox"

func openQueue(_ context.Context, url string, o Options) (outbox.Sink, error) {
	name := strings.TrimPrefix(url, "queue:")
	switch {
	case o.Queue == nil:
		return nil, errors.New("this process has no queues")
	case name == "" || strings.ContainsAny(name, "/?#"):
		return nil, errors.New("write queue:NAME")
	}
	return &queueSink{to: o.Queue, name: name, source: o.Source}, nil
}

func (s *queueSink) Close() error { return nil }

// Send stores records. It stores the records of a wave together.
func (s *queueSink) Send(ctx context.Context, records []outbox.Record) []error {
	if len(records) == 0 {
		return nil
	}
	q, err := s.to.Queue(ctx, s.name)
	if err != nil {
		return outgoing.Failed(records, fmt.Errorf("queue %s: %w", s.name, err))
	}
	return outgoing.Waves(ctx, records, queue.MaxBatch, outgoing.CheckTexts, func(ctx context.Context, wave []*outbox.Record) []error {
		in := each.Of(wave, func(r *outbox.Record) queue.SendInput { return s.message(r, q.Settings.FIFO) })
		sent, err := s.to.SendBatch(ctx, s.name, in)
		if err != nil {
			return outgoing.All(len(wave), fmt.Errorf("queue %s: %w", s.name, err))
		}
		return each.Of(sent, func(r queue.SendResult) error { return judgeQueue(r.Err) })
	})
}

// judgeQueue decides whether the message or the queue caused an error.
func judgeQueue(err error) error {
	for _, own := range []error{queue.ErrInvalid, queue.ErrTooLarge, queue.ErrSchema} {
		if errors.Is(err, own) {
			return outgoing.Refused("%v", err)
		}
	}
	return err
}

func (s *queueSink) message(r *outbox.Record, fifo bool) queue.SendInput {
	in := queue.SendInput{Body: r.Payload, Group: outgoing.ShortName(r.Key), Sender: sender, Attributes: map[string]queue.Attribute{}}
	for name, value := range outgoing.MessageAttributes(r, s.source, queue.MaxAttributes) {
		in.Attributes[name] = queue.Attribute{DataType: "String", String: value}
	}
	if fifo {
		in.Dedup = outgoing.ShortName(r.ID)
		if in.Group == "" { // a group of its own: no other message waits for it
			in.Group = in.Dedup
		}
	}
	return in
}
