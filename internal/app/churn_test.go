package app_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// Queues are made, emptied and deleted while others send and receive: every call
// is answered by what is the case, and nothing is an internal error.
func TestQueuesThatComeAndGo(t *testing.T) {
	t.Parallel()
	for _, s := range stores(t, "postgres") {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var log syncBuffer
			opt := app.Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))}
			n := serveWith(t, head(s.open(t, dir), dir), opt)
			var crew sync.WaitGroup
			for range 12 {
				crew.Go(func() {
					for range pace.Rounds(60, 20) {
						if err := n.churn(t.Context()); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			crew.Wait()
			if text := log.String(); text != "" {
				t.Errorf("errors are in the log:\n%s", text)
			}
		})
	}
}

// churn does one thing to a queue that may not be there.
func (n *node) churn(ctx context.Context) error {
	url := n.queueURL("churn")
	var err error
	switch rand.IntN(10) {
	case 0:
		err = n.admin.DeleteQueue(ctx, "churn")
	case 1:
		err = n.admin.Purge(ctx, "churn")
	case 2:
		_, err = n.admin.CreateQueue(ctx, adminapi.CreateQueue{Name: "churn"})
	case 3:
		_, err = n.admin.Queues(ctx, "ch")
	case 4:
		_, err = n.admin.Peek(ctx, "churn", 0, 100)
	case 5, 6, 7:
		err = sqsCall(ctx, n.sqs, "SendMessage", map[string]any{"QueueUrl": url, "MessageBody": fmt.Sprintf("message %d", rand.Int64())}, nil)
	default:
		var got struct{ Messages []received }
		err = sqsCall(ctx, n.sqs, "ReceiveMessage", map[string]any{"QueueUrl": url, "MaxNumberOfMessages": 10}, &got)
		for _, m := range got.Messages {
			err = sqsCall(ctx, n.sqs, "DeleteMessage", map[string]any{"QueueUrl": url, "ReceiptHandle": m.ReceiptHandle}, nil)
		}
	}
	var p *adminapi.Problem
	switch {
	case err == nil, errors.As(err, &p) && p.Status == http.StatusNotFound:
		return nil
	case strings.Contains(err.Error(), "QueueDoesNotExist"), strings.Contains(err.Error(), "ReceiptHandleIsInvalid"):
		return nil // deleted, or another one of that name by now
	}
	return err
}
