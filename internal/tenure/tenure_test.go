package tenure_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/bezoar-dev/bezoar/internal/tenure"
)

func TestToldToGoAndToStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var x tenure.Removal
		x.Remove()
		x.Keep()
		if x.Removing() {
			t.Error("it ends before it has begun")
		}
		x.Begin(ctx)
		first := x.Context()
		x.Keep()
		if first.Err() != nil || x.Context() != first {
			t.Error("renewing what goes on has changed it")
		}
		x.Remove()
		x.Remove()
		if first.Err() == nil || !x.Removing() {
			t.Error("nobody was told to go")
		}
		went := make(chan bool)
		go func() { went <- x.Drain(func(ctx context.Context) { <-ctx.Done() }) }()
		synctest.Wait()
		x.Keep()
		if <-went || x.Removing() || x.Context().Err() != nil {
			t.Error("it was renewed, and nobody stays")
		}
		if x.Drain(func(context.Context) {}) {
			t.Error("somebody went who was to stay")
		}
		x.Remove()
		if !x.Drain(func(context.Context) {}) || !x.Removing() {
			t.Error("nobody went")
		}
		x.Keep()
		cancel()
		if x.Context().Err() == nil || x.Removing() {
			t.Error("the end of everything is no order to go, and ends it")
		}
		if !x.Drain(func(ctx context.Context) {
			if ctx.Err() != nil {
				t.Error("the end of everything cuts short what finishes")
			}
		}) {
			t.Error("nobody went at the end of everything")
		}
	})
}

// Whatever the order, who was told to stay last has a context that goes on.
func TestConcurrentChanges(t *testing.T) {
	var x tenure.Removal
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
		t.Error("it was told to stay, and ends")
	}
}
