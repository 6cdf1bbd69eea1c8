package quota

import "time"

// Stats is what a limiter has done so far.
type Stats struct {
	Keys        int    // kept now, of all quotas
	Evicted     uint64 // keys that made room for others
	Expired     uint64 // keys dropped because nothing of them counted any more
	Overflowed  uint64 // charges of newcomers that found no room
	StoreErrors uint64
	StoreDown   bool          // the last call of the store failed
	StoreAge    time.Duration // since the store answered; since the start, when it never has; 0 without one
	Quotas      []QuotaStats
}

// QuotaStats is about one quota.
type QuotaStats struct {
	Name    string
	Keys    int
	Refused uint64 // decisions that named it
}

// Stats returns what has been done so far.
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
