package memory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/quota"
)

// quotaStore sums the counts of quotas.
type quotaStore struct {
	mu     sync.Mutex // guards the fields below; never held while waiting
	counts map[quota.Row]counter
	nodes  map[string]counter // last Seq of each node
}

var _ quota.Store = (*quotaStore)(nil)

type counter struct{ n, until int64 }

func newQuotaStore() *quotaStore {
	return &quotaStore{counts: make(map[quota.Row]counter), nodes: make(map[string]counter)}
}

func (s *quotaStore) AddCounts(ctx context.Context, b quota.Batch) (quota.Totals, error) {
	if err := b.Validate(); err != nil {
		return quota.Totals{}, fmt.Errorf("add counts: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return quota.Totals{}, fmt.Errorf("add %d counts: %w", len(b.Counts), err)
	}
	at := time.Now()
	now := at.UnixMicro()
	adds := b.Adds() && s.nodes[b.Node].n < b.Seq
	if adds {
		s.nodes[b.Node] = counter{b.Seq, now + quota.KeepNode.Microseconds()}
	}
	totals := quota.Totals{N: make([]int64, len(b.Counts)), Now: at}
	for i, c := range b.Counts {
		row := s.counts[c.Row]
		if adds && c.N > 0 {
			row = counter{c.Total(row.n), max(row.until, c.Until(now))}
			s.counts[c.Row] = row
		}
		totals.N[i] = row.n
	}
	expire(s.counts, now, 100+2*len(b.Counts))
	expire(s.nodes, now, 10)
	return totals, nil
}

// expire examines some rows per call and drops expired ones.
func expire[K comparable](rows map[K]counter, now int64, some int) {
	for k, row := range rows {
		if some--; some < 0 {
			return
		}
		if row.until < now {
			delete(rows, k)
		}
	}
}
