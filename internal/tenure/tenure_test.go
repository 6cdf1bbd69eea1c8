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
		var x tenure.Tenure
		x.End()
		x.Renew()
		if x.Ending() {
			t.Error("it ends before it has begun")
		}
		x.Begin(ctx)
		first := x.Context()
		x.Renew()
		if first.Err() != nil || x.Context() != first {
			t.Error("renewing what goes on has changed it")
		}
		x.End()
		x.End()
		if first.Err() == nil || !x.Ending() {
			t.Error("nobody was told to go")
		}
		went := make(chan bool)
		go func() { went <- x.Wait(func(ctx context.Context) { <-ctx.Done() }) }()
		synctest.Wait()
		x.Renew()
		if <-went || x.Ending() || x.Context().Err() != nil {
			t.Error("it was renewed, and nobody stays")
		}
		if x.Wait(func(context.Context) {}) {
			t.Error("somebody went who was to stay")
		}
		x.End()
		if !x.Wait(func(context.Context) {}) || !x.Ending() {
			t.Error("nobody went")
		}
		x.Renew()
		cancel()
		if x.Context().Err() == nil || x.Ending() {
			t.Error("the end of everything is no order to go, and ends it")
		}
		if !x.Wait(func(ctx context.Context) {
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
	var x tenure.Tenure
	x.Begin(t.Context())
	done := make(chan struct{})
	var worker sync.WaitGroup
	worker.Go(func() {
		for {
			select {
			case <-x.Context().Done():
				x.Wait(func(ctx context.Context) {})
			case <-done:
				return
			}
		}
	})
	for range 1000 {
		x.End()
		x.Renew()
	}
	close(done)
	worker.Wait()
	if x.Ending() || x.Context().Err() != nil {
		t.Error("it was told to stay, and ends")
	}
}
