package removal_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/bezoar-dev/bezoar/internal/process/removal"
)

func TestRemoveAndKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var x removal.Removal
		x.Remove()
		x.Keep()
		if x.Removing() {
			t.Error("it is being removed before it has begun")
		}
		x.Begin(ctx)
		first := x.Context()
		x.Keep()
		if first.Err() != nil || x.Context() != first {
			t.Error("Keep has changed an active worker")
		}
		x.Remove()
		x.Remove()
		if first.Err() == nil || !x.Removing() {
			t.Error("Remove has not ended the context")
		}
		went := make(chan bool)
		go func() { went <- x.Drain(func(ctx context.Context) { <-ctx.Done() }) }()
		synctest.Wait()
		x.Keep()
		if <-went || x.Removing() || x.Context().Err() != nil {
			t.Error("Keep was called, and the worker is not active")
		}
		if x.Drain(func(context.Context) {}) {
			t.Error("Drain reports the end of a worker that is kept")
		}
		x.Remove()
		if !x.Drain(func(context.Context) {}) || !x.Removing() {
			t.Error("Drain reports that the worker is kept")
		}
		x.Keep()
		cancel()
		if x.Context().Err() == nil || x.Removing() {
			t.Error("the end of the context of Begin is no Remove, and ends the worker's context")
		}
		if !x.Drain(func(ctx context.Context) {
			if ctx.Err() != nil {
				t.Error("the end of the context of Begin cuts Drain short")
			}
		}) {
			t.Error("Drain reports a worker as kept at the end")
		}
	})
}

// Whatever the order, the context goes on when Keep came last.
func TestConcurrentChanges(t *testing.T) {
	var x removal.Removal
	x.Begin(t.Context())
	done := make(chan struct{})
	var worker sync.WaitGroup
	worker.Go(func() {
		for {
			select {
			case <-x.Context().Done():
				x.Drain(func(ctx context.Context) {})
			case <-done:
				return
			}
		}
	})
	for range 1000 {
		x.Remove()
		x.Keep()
	}
	close(done)
	worker.Wait()
	if x.Removing() || x.Context().Err() != nil {
		t.Error("Keep came last, and the worker is not active")
	}
}
