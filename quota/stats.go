package quota

import "time"

// Stats are the counters of a limiter.
type Stats struct {
	Keys        int    // kept now, over all quotas
	Evicted     uint64 // keys that made room for others
	Expired     uint64 // keys dropped because none of their counts matters any more
	Overflowed  uint64 // charges of new keys that found no room
	StoreErrors uint64
	StoreDown   bool          // the last call to the store failed
	StoreAge    time.Duration // since the last answer of the store, or since the start; 0 without a store
	Quotas      []QuotaStats
}

// QuotaStats are the counters of one quota.
type QuotaStats struct {
	Name    string
	Keys    int
	Refused uint64 // decisions that name this quota
}

// Stats returns the counters of the limiter.
func (l *Limiter) Stats() Stats {
	f := &l.flusher
	s := Stats{
		Evicted: l.evicted.Load(), Expired: l.expired.Load(), Overflowed: l.overflowed.Load(),
		StoreErrors: f.errors.Load(), StoreDown: f.failed.Load(),
	}
	if l.cfg.Store != nil {
		heard := max(f.heard.Load(), l.clock.start.UnixNano())
		s.StoreAge = max(time.Duration(l.clock.local(time.Now())-heard), 0)
	}
	quotas := *l.counted.Load()
	for i := range quotas {
		q := QuotaStats{Name: quotas[i].quota.Name, Refused: quotas[i].refused.Load()}
		for stripe := range l.stripes {
			l.stripes[stripe].Lock()
			q.Keys += quotas[i].tables[stripe].n
			l.stripes[stripe].Unlock()
		}
		s.Keys += q.Keys
		s.Quotas = append(s.Quotas, q)
	}
	return s
}
