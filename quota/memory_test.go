package quota_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/test/pace"
	"github.com/bezoar-dev/bezoar/quota"
)

func heap() int64 {
	var m runtime.MemStats
	for range 2 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// At a million keys, each takes at most 64 bytes of the heap beside its own 16:
// state, table and all. Where in their growth tables are at their worst,
// TestATableIsNeverBig computes.
func TestMemoryPerKey(t *testing.T) {
	pace.Alone(t)
	const budget = 16 + 64
	for name, n := range map[string]int{"shared window": million, "window": million / 8, "token bucket": million / 8} {
		before := heap()
		l := fill(t, kinds()[name], n)
		per := float64(heap()-before) / float64(n)
		if s := l.Stats(); s.Keys != n || s.Evicted != 0 {
			t.Fatalf("%s: %d keys of %d are there, %d were evicted", name, s.Keys, n, s.Evicted)
		}
		t.Logf("%s: %.1f bytes a key", name, per)
		if per > budget {
			t.Errorf("%s: a key takes %.1f bytes, want %d at most", name, per, budget)
		}
	}
}

// A flood of new keys evicts no offender, evicts the idle, and stays in bounds.
func TestAFloodEvictsNoOffender(t *testing.T) {
	pace.Alone(t)
	const maxKeys, offenders = 64 * 64, 200
	for name, q := range kinds() {
		t.Run(name, func(t *testing.T) {
			q.Limit, q.Burst = 10, min(q.Burst, 10)
			q.Per = time.Hour
			l := limiter(t, quota.Config{Quotas: []quota.Quota{q}, MaxKeys: maxKeys})
			now := time.Now()
			for k := range offenders {
				for l.Admit(now, one(k, 1)).Allowed {
				}
			}
			for k := range 8 * maxKeys {
				if !l.Admit(now, one(offenders+k, 1)).Allowed {
					t.Fatalf("newcomer %d was refused", k)
				}
			}
			for k := range offenders {
				if l.Admit(now, one(k, 1)).Allowed {
					t.Fatalf("offender %d was forgotten", k)
				}
			}
			if s := l.Stats(); s.Keys > maxKeys+64 || s.Evicted < 6*maxKeys || s.Overflowed != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// When all keys are at their limits, newcomers share: few get through, none of
// the old ones is forgotten, and memory stays where it is.
func TestFullOfOffendersNewcomersShare(t *testing.T) {
	pace.Alone(t)
	const maxKeys, limit = 64 * 16, 4
	for name, q := range kinds() {
		t.Run(name, func(t *testing.T) {
			q.Limit, q.Burst = limit, min(q.Burst, limit)
			q.Per = time.Hour
			l := limiter(t, quota.Config{Quotas: []quota.Quota{q}, MaxKeys: maxKeys})
			now := time.Now()
			for k := range 20 * maxKeys {
				l.Admit(now, one(k, limit))
			}
			before := heap()
			through := 0
			for k := range 50 * maxKeys {
				if l.Admit(now, one(1_000_000+k, 1)).Allowed {
					through++
				}
			}
			if grown := heap() - before; grown > 64<<10 {
				t.Errorf("the heap grew by %d bytes", grown)
			}
			s := l.Stats()
			if most := 64 * limit; through > most || s.Keys > maxKeys+64 || s.Evicted != 0 || s.Overflowed == 0 {
				t.Errorf("%d newcomers got through, want %d at most: %+v", through, most, s)
			}
		})
	}
}
