package sqs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/bezoar-dev/bezoar/queue"
)

func TestQueuesAreDefinedByTheirAttributes(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	q, err := r.handler.Create(ctx, "q.fifo", map[string]string{"VisibilityTimeout": "5", "ContentBasedDeduplication": "true", "BezoarRetryBase": "2s"}, map[string]string{"team": "a"})
	if err != nil || !q.Settings.FIFO || q.Tags["team"] != "a" {
		t.Fatalf("made %+v, %v", q, err)
	}
	got := r.handler.Attributes(q)
	for name, want := range map[string]string{
		"QueueArn": "arn:aws:sqs:us-east-1:000000000000:q.fifo", "VisibilityTimeout": "5", "FifoQueue": "true", "BezoarRetryBase": "2s",
		"BezoarRetryCap": "", "ApproximateNumberOfMessages": "",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if _, err := r.handler.Create(ctx, "other", map[string]string{"BezoarRetryBse": "1"}, nil); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("an unknown attribute: %v", err)
	}
	if _, err := r.handler.Create(ctx, "q.fifo", map[string]string{"VisibilityTimeout": "6"}, nil); !errors.Is(err, queue.ErrQueueExists) {
		t.Errorf("another value: %v", err)
	}
}
