package quota

import (
	"context"
	"math"
	"time"
)

const (
	// sweepEvery is how often a part of the keys is looked at …
	sweepEvery = 250 * time.Millisecond
	// … and how many stripes are: all of them every 8 seconds.
	sweepStripes = 2
	// idleSweep is how long Run waits instead while there are no quotas. Update wakes it.
	idleSweep = time.Hour
)

// Run flushes shared counts and drops idle keys until ctx ends, and then flushes once
// more. Without Run, a limiter decides with its own counts only, and drops idle keys when
// others need room.
func (l *Limiter) Run(ctx context.Context) error {
	sweep := time.NewTicker(l.sweepIn())
	defer sweep.Stop()
	var flush <-chan time.Time
	if l.cfg.Store != nil {
		ticker := time.NewTicker(l.cfg.Flush)
		defer ticker.Stop()
		flush = ticker.C
	}
	for next := 0; ; {
		select {
		case <-ctx.Done():
			if l.cfg.Store != nil {
				last, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.cfg.Timeout)
				defer cancel()
				_ = l.flush(last) // counted and logged
			}
			return nil
		case <-flush:
			_ = l.flush(ctx) // counted and logged
		case <-l.updated:
			sweep.Reset(l.sweepIn())
		case <-sweep.C:
			for range sweepStripes {
				l.sweep(next)
				next = (next + 1) % stripes
			}
		}
	}
}

// sweepIn returns the time between two sweeps.
func (l *Limiter) sweepIn() time.Duration {
	if len(*l.counted.Load()) == 0 {
		return idleSweep
	}
	return sweepEvery
}

// sweep drops the idle keys of one stripe.
func (l *Limiter) sweep(stripe int) {
	local := l.clock.local(time.Now())
	quotas := *l.counted.Load()
	for i := range quotas {
		q := &quotas[i]
		now := l.clock.of(&q.scheme, local)
		t := &q.tables[stripe]
		for from := math.MaxInt; from > 0; {
			var dropped int
			l.stripes[stripe].Lock()
			dropped, from = t.sweep(&q.scheme, now, from)
			l.stripes[stripe].Unlock()
			l.expired.Add(uint64(dropped))
		}
	}
}
