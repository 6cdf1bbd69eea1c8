package worker

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// holder is a Source whose queue can say why it delivers nothing.
type holder interface {
	held(ctx context.Context) (string, error)
}

// Held returns why the worker receives nothing although messages may be there: a pause, or
// the open breaker of a downstream, of this worker or of its queue. "" means that no such
// reason is known.
func (w *Worker) Held(ctx context.Context) string {
	w.ask(ctx)
	if why := w.shut.Load(); why != nil {
		return *why
	}
	return ""
}

// ask asks a queue that judges what holds it back.
func (w *Worker) ask(ctx context.Context) {
	if h, ok := w.cfg.Source.(holder); ok && w.asks.Load() {
		if why, err := h.held(ctx); err == nil { // else the next receive fails, too
			w.announce(why)
		}
	}
}

// announce notes what holds the worker back, and says so when that begins and ends.
func (w *Worker) announce(why string) {
	if why == "" {
		if w.shut.Swap(nil) != nil {
			w.cfg.Log.Info("messages are received again", "queue", w.about.Queue)
		}
		return
	}
	if w.shut.Swap(&why) == nil {
		w.cfg.Log.Warn("no messages are received for now", "queue", w.about.Queue, "why", why)
	}
}

func (s *direct) held(ctx context.Context) (string, error) { return s.engine.Held(ctx, s.name) }

func (s *SQSQueue) held(ctx context.Context) (string, error) {
	if !s.bezoar {
		return "", nil
	}
	const attribute = "BezoarHeld"
	out, err := s.Client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &s.URL, AttributeNames: []types.QueueAttributeName{attribute},
	}, s.calls.options)
	if err != nil {
		return "", err
	}
	return out.Attributes[attribute], nil
}
