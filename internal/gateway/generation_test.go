package gateway

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// TestSettled: what settings refer to may go when nothing uses them any more,
// whichever way requests end.
func TestSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		printer, err := fingerprint.New(fingerprint.Key{1}, fingerprint.Config{})
		if err != nil {
			t.Fatal(err)
		}
		config := func(do doFunc) Config {
			return Config{Routes: []Route{{Name: "r", Path: "/*", Printer: printer, Doer: do}}}
		}
		free := make(chan struct{})
		g, err := New(config(func(context.Context, dispatch.Work, dispatch.Job) dispatch.Answer {
			<-free
			panic("a worker's wire broke badly")
		}))
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Settled(t.Context()); err != nil {
			t.Errorf("nothing was ever replaced: %v", err)
		}
		ask := func() {
			defer func() { _ = recover() }()
			g.handle(t.Context(), &recorder{}, &h1.Request{Method: "GET", Target: "/", Path: "/", Host: "x"}, peer{ip: "192.0.2.1"})
		}
		go ask()
		synctest.Wait()
		for range 3 { // those in between have no users
			if err := g.Swap(config(func(context.Context, dispatch.Work, dispatch.Job) dispatch.Answer {
				return dispatch.Answer{Kind: dispatch.Unavailable}
			})); err != nil {
				t.Fatal(err)
			}
			ask()
		}
		settled := make(chan error)
		go func() { settled <- g.Settled(t.Context()) }()
		bounded, cancel := context.WithTimeout(t.Context(), settledTick*10)
		defer cancel()
		if err := g.Settled(bounded); err == nil {
			t.Error("it is settled with a request of before in flight")
		}
		close(free)
		if err := <-settled; err != nil {
			t.Error(err)
		}
		if n := g.now.Load().used.n.Load(); n != 0 {
			t.Errorf("%d use the present settings, want none", n)
		}
	})
}
