package worker_test

import (
	"context"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/worker"
)

// A receive that has waited long for its message has used up none of the lease:
// what takes longer than a lease is done in one attempt all the same.
func TestLeaseAfterALongWait(t *testing.T) {
	t.Parallel()
	eachSource(t, func(t *testing.T, r *rig, kind string) {
		r.create("jobs", plain)
		r.start(worker.Config{
			Source: r.source(kind, "jobs"), Visibility: worker.MinVisibility,
			Handler: func(ctx context.Context, _ worker.Message) error {
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(worker.MinVisibility * 3 / 2):
					return nil
				}
			},
		})
		// The worker waits for a message all the while.
		delay := worker.MinVisibility * 3 / 4
		if _, err := r.engine.Send(t.Context(), "jobs", queue.SendInput{Body: []byte("a message that is late"), Delay: &delay}); err != nil {
			t.Fatal(err)
		}
		if e := r.waitFor(1)[0]; e.Class != bezoar.Done || e.Fate != worker.FateDone || e.Receives != 1 {
			t.Errorf("got %+v", e)
		}
	})
}
