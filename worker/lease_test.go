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
	eachSource(t, func(t *testing.T, _ *rig, kind string) {
		given(t, func(lease time.Duration) bool {
			r := newRig(t)
			r.create("jobs", plain)
			r.start(worker.Config{
				Source: r.source(kind, "jobs"), Visibility: lease,
				Handler: func(ctx context.Context, _ worker.Message) error {
					select {
					case <-ctx.Done():
						return context.Cause(ctx)
					case <-time.After(lease * 3 / 2):
						return nil
					}
				},
			})
			// The worker waits for a message all the while.
			delay := lease * 3 / 4
			if _, err := r.engine.Send(t.Context(), "jobs", queue.SendInput{Body: []byte("a message that is late"), Delay: &delay}); err != nil {
				t.Fatal(err)
			}
			e := r.waitFor(1)[0]
			if e.Class == bezoar.Done && e.Outcome == worker.OutcomeDone && e.Receives == 1 {
				return true
			}
			t.Logf("got %+v", e)
			return false
		})
	})
}
