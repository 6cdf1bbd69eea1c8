package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/store/postgres"
	"github.com/bezoar-dev/bezoar/quota"
)

// timed is a store that knows how far apart its answers were.
type timed struct {
	quota.Store
	mu   sync.Mutex // guards the rest
	last time.Time
	gap  time.Duration
}

func (s *timed) AddCounts(ctx context.Context, b quota.Batch) (quota.Totals, error) {
	asked := time.Now()
	totals, err := s.Store.AddCounts(ctx, b)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		if !s.last.IsZero() {
			s.gap = max(s.gap, time.Since(s.last))
		}
		s.last = asked // what it has counted since is not told
	}
	return totals, err
}

// longest is the longest for which this node told nothing, until now.
func (s *timed) longest() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.gap, time.Since(s.last))
}

// busiest is the most of one node within any d.
func busiest(taken []time.Time, d time.Duration) (n int) {
	first := 0
	for i, at := range taken {
		for at.Sub(taken[first]) > d {
			first++
		}
		n = max(n, i-first+1)
	}
	return n
}

// Three nodes over one server exceed a limit by no more than what the two
// others let through in two flushes, and all come to know the same.
func TestThreeNodesShareAQuota(t *testing.T) {
	t.Parallel()
	const nodes, limit, flush = 3, 1500, 50 * time.Millisecond
	c := postgres.Config{URL: with(t, server(t), "pool_max_conns", "2"), Schema: newSchema(t)}
	q := quota.Quota{Name: "w", Limit: limit, Per: 24 * time.Hour, Shared: true}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running, asking sync.WaitGroup
	stores, taken := make([]*timed, nodes), make([][]time.Time, nodes)
	limiters := make([]*quota.Limiter, nodes)
	for i := range nodes {
		stores[i] = &timed{Store: open(t, c).Quota()}
		var err error
		limiters[i], err = quota.New(quota.Config{Quotas: []quota.Quota{q}, Store: stores[i], Node: fmt.Sprint("node ", i), Flush: flush})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			if err := limiters[i].Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	one := []quota.Charge{{Key: quota.Key{1}, N: 1}}
	for i, l := range limiters {
		asking.Go(func() {
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			refused := 0
			for refused < 500 && len(taken[i]) <= limit {
				now := <-tick.C
				if l.Admit(now, one).Allowed {
					taken[i] = append(taken[i], now)
				} else {
					refused++
				}
			}
		})
	}
	asking.Wait()
	cancel()
	running.Wait()

	gap, all := time.Duration(0), 0
	for i := range nodes {
		gap = max(gap, stores[i].longest())
		all += len(taken[i])
	}
	bound := 0
	for i := range nodes {
		others := 0
		for j := range nodes {
			if j != i {
				others += busiest(taken[j], 2*gap)
			}
		}
		bound = max(bound, others)
	}
	t.Logf("%d over %d, at %d a second each; the longest between two answers was %v, the bound is %d", all-limit, limit, 1000, gap, bound)
	if all < limit || all > limit+bound {
		t.Errorf("%d came through of %d, want %d more at most", all, limit, bound)
	}
	total, err := stores[0].AddCounts(t.Context(), quota.Batch{Node: "reader", Seq: 1, Counts: []quota.Count{
		{Row: quota.Row{Quota: q.ID(), Key: one[0].Key, Bucket: time.Now().Unix() / 86_400}},
		{Row: quota.Row{Quota: q.ID(), Key: one[0].Key, Bucket: time.Now().Unix()/86_400 - 1}}, // it may be midnight
	}})
	if err != nil || total.N[0]+total.N[1] != int64(all) {
		t.Errorf("the store holds %v, want %d: %v", total.N, all, err)
	}
}

// A server that does not answer for a while, because a row is locked, counts
// nothing twice.
func TestASlowServerCountsOnce(t *testing.T) {
	t.Parallel()
	schema := newSchema(t)
	s := open(t, postgres.Config{URL: server(t), Schema: schema}).Quota()
	b := quota.Batch{Node: "n", Seq: 1, Counts: []quota.Count{{Row: quota.Row{Quota: 1, Bucket: 1}, N: 1, Keep: time.Hour}}}
	if _, err := s.AddCounts(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for b.Seq = 2; b.Seq < 6; b.Seq++ {
		var wg sync.WaitGroup
		held, release := make(chan struct{}), make(chan struct{})
		wg.Go(func() { holdRow(t, schema, held, release) })
		<-held
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		_, err := s.AddCounts(ctx, b)
		cancel()
		if err == nil {
			t.Error("the row was not locked")
		}
		again := make(chan quota.Totals, 1)
		wg.Go(func() {
			totals, err := s.AddCounts(t.Context(), b)
			if err != nil {
				t.Error(err)
			}
			again <- totals
		})
		close(release)
		if totals := <-again; !slices.Equal(totals.N, []int64{b.Seq}) {
			t.Errorf("batch %d: the totals are %v", b.Seq, totals.N)
		}
		wg.Wait()
	}
}

// holdRow locks the only row of counts until it is told to release it.
func holdRow(t *testing.T, schema string, held chan<- struct{}, release <-chan struct{}) {
	defer close(held)
	conn, err := pgx.Connect(t.Context(), server(t))
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close(context.Background())
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Error(err)
		return
	}
	if _, err := tx.Exec(t.Context(), "UPDATE "+schema+".quota_counts SET n = n"); err != nil {
		t.Error(err)
	}
	held <- struct{}{}
	<-release
	if err := tx.Commit(t.Context()); err != nil {
		t.Error(err)
	}
}
