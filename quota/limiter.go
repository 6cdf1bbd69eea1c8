package quota

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// stripes is how many locks share the keys.
const stripes = 64

// Limiter counts and decides. It is safe for concurrent use.
type Limiter struct {
	cfg   Config
	mask  mask
	most  int // cells of one quota in one stripe
	clock clock

	// stripe i guards table i of every quota. Whoever needs several takes them
	// in ascending order. None is held while waiting for anything else.
	stripes [stripes]stripe
	counted atomic.Pointer[[]counted]
	updated chan struct{} // Run looks at counted again

	updating sync.Mutex // serialises Update
	flusher  flusher    // Run's own, but for what is atomic

	evicted, expired, overflowed atomic.Uint64
}

// stripe is a lock in a cache line of its own.
type stripe struct {
	sync.Mutex
	_ [56]byte
}

// counted is one quota in force and what is known of its keys. The scheme is
// replaced by an update, the tables are not.
type counted struct {
	scheme
	*keyTables
}

type keyTables struct {
	tables  [stripes]table
	refused atomic.Uint64
}

// New returns a limiter without counts.
func New(cfg Config) (*Limiter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("quotas: %w", err)
	}
	cfg = cfg.WithDefaults()
	l := &Limiter{cfg: cfg, mask: mask{rand.Uint64(), rand.Uint64()}, updated: make(chan struct{}, 1)}
	l.most = (cfg.MaxKeys + stripes - 1) / stripes
	l.clock.start = time.Now()
	l.flusher.begin(cfg)
	l.counted.Store(new([]counted))
	return l, l.Update(cfg.Quotas)
}

// Update replaces the quotas. Counts are kept if Quota.ID and Shared stay the same.
// Charges in flight that use the old indices count against the new quotas at those
// indices, so keep the order of quotas that stay, and add new ones at the end. A charge
// with an index that no longer exists is allowed.
func (l *Limiter) Update(quotas []Quota) error {
	if err := validate(quotas); err != nil {
		return fmt.Errorf("quotas: %w", err)
	}
	l.updating.Lock()
	defer l.updating.Unlock()
	old := *l.counted.Load()
	next := make([]counted, len(quotas))
	for i, q := range quotas {
		next[i].scheme = newScheme(q.WithDefaults())
		same := slices.IndexFunc(old, func(o counted) bool {
			return o.id == next[i].id && o.quota.Shared == q.Shared
		})
		if same >= 0 {
			next[i].keyTables = old[same].keyTables
			continue
		}
		next[i].keyTables = new(keyTables)
		for s := range next[i].tables {
			next[i].tables[s].words = keyWords + next[i].words
		}
	}
	l.counted.Store(&next)
	select {
	case l.updated <- struct{}{}:
	default: // Run has not taken the last one yet
	}
	return nil
}

// Quotas returns the quotas in force, with their defaults.
func (l *Limiter) Quotas() []Quota {
	var quotas []Quota
	for _, q := range *l.counted.Load() {
		quotas = append(quotas, q.quota)
	}
	return quotas
}

// lock takes the stripes of a set.
func (l *Limiter) lock(set uint64) {
	for ; set != 0; set &= set - 1 {
		l.stripes[bits.TrailingZeros64(set)].Lock()
	}
}

func (l *Limiter) unlock(set uint64) {
	for ; set != 0; set &= set - 1 {
		l.stripes[bits.TrailingZeros64(set)].Unlock()
	}
}

// clock turns the callers' times into nanoseconds since 1970. Times with a
// monotonic reading do not step back. Shared counts go by the store's clock, so
// that all nodes mean the same bucket.
type clock struct {
	start time.Time
	ahead atomic.Int64 // of the local clock, the store's
}

func (c *clock) local(now time.Time) int64 { return c.start.UnixNano() + int64(now.Sub(c.start)) }

func (c *clock) of(k *scheme, local int64) int64 {
	if k.quota.Shared {
		return local + c.ahead.Load()
	}
	return local
}

// heard takes what the store's clock said between two times of the local one.
func (c *clock) heard(store time.Time, sent, received int64) {
	if store.IsZero() {
		return
	}
	at := store.UnixNano()
	c.ahead.Store(min(max(c.ahead.Load(), at-received), at-sent))
}
