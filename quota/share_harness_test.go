package quota_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/memory"
	"github.com/bezoar-dev/bezoar/quota"
)

func newStore(tb testing.TB) quota.Store {
	tb.Helper()
	db, err := memory.Open(memory.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	return db.Quota()
}

var errDown = errors.New("no route to the store")

// faulty is a store behind a bad network.
type faulty struct {
	quota.Store
	latency time.Duration // of each way

	mu    sync.Mutex // guards all below
	down  bool       // nothing arrives
	mute  bool       // everything arrives, and no answer does
	ahead time.Duration
	seen  []quota.Batch
}

func (f *faulty) set(change func(*faulty)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *faulty) AddCounts(ctx context.Context, b quota.Batch) (quota.Totals, error) {
	f.mu.Lock()
	down, mute, ahead := f.down, f.mute, f.ahead
	b.Counts = slices.Clone(b.Counts)
	f.seen = append(f.seen, b)
	f.mu.Unlock()
	if down {
		return quota.Totals{}, errDown
	}
	pass(f.latency)
	totals, err := f.Store.AddCounts(ctx, b)
	if mute {
		<-ctx.Done()
		return quota.Totals{}, ctx.Err()
	}
	totals.Now = totals.Now.Add(ahead)
	pass(f.latency)
	return totals, err
}

// pass lets time pass in a bubble.
func pass(d time.Duration) {
	if d > 0 {
		<-time.After(d)
	}
}

// node is a limiter that runs.
type node struct {
	*quota.Limiter
	*faulty
	logged *bytes.Buffer
	stop   func()
}

func startNode(t *testing.T, s quota.Store, flush, latency time.Duration, quotas ...quota.Quota) node {
	t.Helper()
	f := &faulty{Store: s, latency: latency}
	var logged bytes.Buffer
	l := limiter(t, quota.Config{Quotas: quotas, Store: f, Flush: flush, Log: slog.New(slog.NewTextHandler(&logged, nil))})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	t.Cleanup(stop)
	return node{l, f, &logged, stop}
}
