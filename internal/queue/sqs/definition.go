package sqs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/queue"
)

// Create creates a queue with attributes by their SQS names, or returns an existing one with the same name and attributes.
// It is for callers without a connection.
func (h *Handler) Create(ctx context.Context, name string, attributes, tags map[string]string) (queue.Queue, error) {
	s := queue.DefaultSettings()
	s.FIFO = strings.HasSuffix(name, ".fifo")
	c := &call{h: h, ctx: ctx, region: h.cfg.Region}
	change := settingsChange{Settings: &s, ctx: ctx, name: name, call: c}
	if err := change.apply(attributes); err != nil {
		if f, ok := errors.AsType[*fault](err); ok {
			err = fmt.Errorf("create queue %.100q: %s: %w", name, f.message, queue.ErrInvalid)
		}
		return queue.Queue{}, err
	}
	return h.engine.CreateQueue(ctx, name, s, tags)
}

// Set changes attributes of a queue by their SQS names, and keeps the others.
func (h *Handler) Set(ctx context.Context, name string, attributes map[string]string) (queue.Queue, error) {
	c := &call{h: h, ctx: ctx, region: h.cfg.Region}
	q, err := h.engine.SetSettings(ctx, name, func(s *queue.Settings) error {
		change := settingsChange{Settings: s, ctx: ctx, name: name, call: c}
		return change.apply(attributes)
	})
	if f, ok := errors.AsType[*fault](err); ok {
		err = fmt.Errorf("change queue %.100q: %s: %w", name, f.message, queue.ErrInvalid)
	}
	return q, err
}

// Attributes returns a queue's attributes by their SQS names. Bezoar's own attributes are included only if they differ from
// the default.
func (h *Handler) Attributes(q queue.Queue) map[string]string {
	c := &call{h: h, region: h.cfg.Region}
	v := view{Queue: q, arn: c.arn}
	standard := &h.defaults[0]
	if q.Settings.FIFO {
		standard = &h.defaults[1]
	}
	out := make(map[string]string)
	for _, name := range h.order {
		if counted(name) {
			continue
		}
		a := h.attributes[name]
		if value := a.get(&v); value != "" && (!a.quiet || value != a.get(standard)) {
			out[name] = value
		}
	}
	return out
}
