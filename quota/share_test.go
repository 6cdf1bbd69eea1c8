package quota_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/internal/test/pace"
	"github.com/bezoar-dev/bezoar/quota"
)

// demand asks for one of quota 0, key 1 at each node, perSecond times a second,
// and returns when how many nodes were let through.
func demand(nodes []node, perSecond int, lasts time.Duration) (taken []time.Time) {
	step := time.Second / time.Duration(perSecond)
	for end := time.Now().Add(lasts); time.Now().Before(end); pass(step) {
		for _, n := range nodes {
			if now := time.Now(); n.Admit(now, one(1, 1)).Allowed {
				taken = append(taken, now)
			}
		}
	}
	return taken
}

// most is the most that was taken within any per.
func most(taken []time.Time, per time.Duration) (most int) {
	first := 0
	for i, at := range taken {
		for at.Sub(taken[first]) >= per {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// Three nodes exceed a limit by no more than the documentation says: by what
// the two others let through in two flushes and round trips.
func TestAccuracyAgainstTheInterval(t *testing.T) {
	for _, flush := range []time.Duration{10, 50, 100, 200, 500, 1000} {
		for name, q := range map[string]quota.Quota{
			"window":       {Name: "w", Limit: 3000, Per: 10 * time.Second, Shared: true},
			"token bucket": {Name: "t", Limit: 3000, Per: 10 * time.Second, Burst: 2000, Shared: true},
		} {
			for phase, turns := range map[string]time.Duration{"in turns": 3, "together": 1 << 30} {
				t.Run(fmt.Sprintf("%s/%v/%s", name, flush*time.Millisecond, phase), func(t *testing.T) {
					if flush != 100 {
						pace.Spare(t, "that of 100ms")
					}
					synctest.Test(t, func(t *testing.T) { measure(t, q, flush*time.Millisecond, flush*time.Millisecond/turns) })
				})
			}
		}
	}
}

func measure(t *testing.T, q quota.Quota, flush, turn time.Duration) {
	const nodes, rate, latency = 3, 300, 2 * time.Millisecond // a second, at each node
	s := newStore(t)
	var all []node
	for range nodes {
		all = append(all, startNode(t, s, flush, latency, q))
		pass(turn)
	}
	pass(time.Until(time.Now().Truncate(q.Per).Add(q.Per + time.Microsecond))) // a bucket begins
	begin := time.Now()
	over, exact := 0.0, 0.0
	for i, at := range demand(all, rate, q.Per*99/100) {
		one := float64(q.Limit) // what a single node would have let through by then
		if q.Burst > 0 {
			one = float64(q.Burst) + float64(q.Limit)*at.Sub(begin).Seconds()/q.Per.Seconds()
		}
		if more := float64(i+1) - one; more > over || i == 0 {
			over, exact = more, one
		}
	}
	bound := 2 * (nodes - 1) * rate * (flush + 2*latency).Seconds()
	t.Logf("%.0f over %.0f: %.1f %%; the bound is %.0f", over, exact, 100*over/exact, bound)
	if over > bound || over <= -1 {
		t.Errorf("%.0f over %.0f, want %.0f at most and all of it", over, exact, bound)
	}
}

// In the long run nodes share the limit, and use it.
func TestTheLongRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, per, flush, rate = 300, 10 * time.Second, 200 * time.Millisecond, 50
		s := newStore(t)
		q := quota.Quota{Name: "w", Limit: limit, Per: per, Buckets: 2, Shared: true}
		var all []node
		for range 3 {
			all = append(all, startNode(t, s, flush, time.Millisecond, q))
			pass(70 * time.Millisecond)
		}
		taken := demand(all, rate, 2*time.Minute)
		bound := limit + limit/2 + int(2*2*rate*(flush+2*time.Millisecond).Seconds())
		if most := most(taken, per); most > bound {
			t.Errorf("within %v, %d came through, want %d at most", per, most, bound)
		}
		if all := len(taken); all < 12*limit*9/10 || all > 12*limit*12/10 {
			t.Errorf("in 12 × %v, %d came through of 12 × %d", per, all, limit)
		}
	})
}

// A store that is away, or does not answer, holds nobody up and refuses nobody;
// what was counted meanwhile is told when it is back, once.
func TestAnOutage(t *testing.T) {
	for name, cut := range map[string]func(*faulty){
		"down": func(f *faulty) { f.down = true },
		"mute": func(f *faulty) { f.mute = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const flush = 200 * time.Millisecond
				s := newStore(t)
				quotas := []quota.Quota{{Name: "w", Limit: 1000, Per: time.Hour, Shared: true}, {Name: "t", Limit: 1000, Per: 100 * time.Hour, Burst: 1000, Shared: true}}
				a, b := startNode(t, s, flush, 0, quotas...), startNode(t, s, flush, 0, quotas...)
				take := func(n node) {
					now := time.Now()
					for q := range quotas {
						if d := n.Admit(now, []quota.Charge{{Quota: q, Key: keyOf(1), N: 1}}); !d.Allowed || time.Since(now) != 0 {
							t.Fatalf("%+v after %v", d, time.Since(now))
						}
					}
				}
				used := func(n node) (used [2]int64) {
					for q := range quotas {
						used[q] = n.Admit(time.Now(), []quota.Charge{{Quota: q, Key: keyOf(1)}}).Used
					}
					return used
				}
				take(a)
				take(b)
				pass(3 * flush)
				a.set(cut)
				for range 300 {
					take(a)
					pass(100 * time.Millisecond)
				}
				down := a.Stats()
				if !down.StoreDown || down.StoreErrors < 10 || down.StoreAge < 25*time.Second {
					t.Errorf("during the outage: %+v", down)
				}
				a.set(func(f *faulty) { f.down, f.mute = false, false })
				pass(10 * time.Second)
				if up := a.Stats(); up.StoreDown || up.StoreAge > 6*time.Second {
					t.Errorf("after the outage: %+v", up)
				}
				take(b) // asks, too
				pass(3 * flush)
				if got := used(b); got[0] != 303 || got[1] != 303 {
					t.Errorf("the other knows of %v, want 303", got)
				}
				a.stop()
				if log := a.logged.String(); strings.Count(log, "does not answer") != 1 || strings.Count(log, "answers again") != 1 {
					t.Errorf("it says:\n%s", log)
				}
			})
		})
	}
}

// What was counted in an outage and has left the window since is not told.
func TestWhatHasLeftIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := quota.Quota{Name: "w", Limit: 1000, Per: time.Second, Shared: true}
		n := startNode(t, newStore(t), 100*time.Millisecond, 0, q)
		pass(time.Second)
		n.set(func(f *faulty) { f.down = true })
		demand([]node{n}, 20, time.Minute)
		n.set(func(f *faulty) { f.down, f.seen = false, nil })
		demand([]node{n}, 20, time.Second)
		late := int64(0)
		n.set(func(f *faulty) {
			for i, b := range f.seen {
				for _, c := range b.Counts {
					if c.Bucket < time.Now().Unix()-2 && i > 0 { // the first is the one that failed
						late += c.N
					}
				}
			}
		})
		if late != 0 {
			t.Errorf("%d were told that had left long ago", late)
		}
	})
}

// All nodes go by the store's clock.
func TestTheStoresClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ahead = -time.Hour - 7*time.Second
		q := quota.Quota{Name: "w", Limit: 1000, Per: time.Minute, Shared: true}
		n := startNode(t, newStore(t), 100*time.Millisecond, 5*time.Millisecond, q, quota.Quota{Name: "own", Limit: 10, Per: time.Minute})
		n.set(func(f *faulty) { f.ahead = ahead })
		n.Admit(time.Now(), []quota.Charge{{Quota: 1, N: 10}})
		pass(time.Second)
		demand([]node{n}, 10, 30*time.Second)
		n.set(func(f *faulty) {
			last := f.seen[len(f.seen)-1]
			if want := time.Now().Add(ahead).Unix() / 60; len(last.Counts) != 2 || last.Counts[1].Bucket != want {
				t.Errorf("it counts in %+v, want bucket %d", last.Counts, want)
			}
		})
		if d := n.Admit(time.Now(), []quota.Charge{{Quota: 1, N: 1}}); d.Allowed {
			t.Errorf("a clock that is none of its own moved a quota that is not shared: %+v", d)
		}
	})
}

// More keys than fit into a batch are told in several, and all arrive when the
// node ends.
func TestManyKeysAndTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = 3 * quota.MaxBatch / 2
		s := newStore(t)
		q := quota.Quota{Name: "w", Limit: 10, Per: time.Hour, Shared: true}
		a, b := startNode(t, s, time.Minute, time.Millisecond, q), startNode(t, s, time.Minute, time.Millisecond, q)
		for k := range keys {
			a.Admit(time.Now(), one(k, 4))
			b.Admit(time.Now(), one(k, 5))
		}
		a.stop()
		b.stop()
		c := startNode(t, s, time.Minute, time.Millisecond, q)
		for k := range keys {
			c.Admit(time.Now(), one(k, 1))
		}
		pass(time.Minute + time.Second)
		for k := range keys {
			if d := c.Admit(time.Now(), one(k, 1)); d.Allowed || d.Used != 10 {
				t.Fatalf("key %d: %+v", k, d)
			}
		}
		for _, n := range []node{a, c} {
			n.set(func(f *faulty) {
				for _, b := range f.seen {
					if err := b.Validate(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	})
}

// Idle keys go, the others stay, and memory is given back.
func TestIdleKeysGo(t *testing.T) {
	keys := pace.Rounds(20_000, 2_000)
	for name, q := range kinds() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := startNode(t, newStore(t), 100*time.Millisecond, 0, q)
				for k := range keys {
					n.Admit(time.Now(), one(k, 1))
				}
				busy := make(chan struct{})
				go func() {
					defer close(busy)
					for range 200 {
						n.Admit(time.Now(), one(7, 1))
						pass(time.Second)
					}
				}()
				<-busy
				if s := n.Stats(); s.Keys > 1 || s.Expired < uint64(keys-1) || s.Evicted != 0 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// A store that breaks its word is an outage like any other.
func TestAStoreThatAnswersTooLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := quota.Quota{Name: "w", Limit: 10, Per: time.Minute, Shared: true}
		l := limiter(t, quota.Config{Quotas: []quota.Quota{q}, Store: forgetful{}, Node: "n"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		l.Admit(time.Now(), one(1, 1))
		if err := l.Run(ctx); err != nil {
			t.Error(err)
		}
		if s := l.Stats(); !s.StoreDown || s.StoreErrors == 0 {
			t.Errorf("%+v", s)
		}
	})
}

type forgetful struct{}

func (forgetful) AddCounts(context.Context, quota.Batch) (quota.Totals, error) {
	return quota.Totals{N: make([]int64, 7)}, nil
}

// Everything at once, for the race detector.
func TestEverythingAtOnce(t *testing.T) {
	s := newStore(t)
	quotas := []quota.Quota{
		{Name: "w", Limit: 50, Per: 50 * time.Millisecond, Buckets: 2, Shared: true},
		{Name: "t", Limit: 500, Per: time.Second, Burst: 50, Shared: true},
		{Name: "own", Limit: 500, Per: time.Second},
	}
	l := limiter(t, quota.Config{Quotas: quotas, MaxKeys: 500, Store: s, Flush: 10 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := l.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	for g := range 3 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				now := time.Now()
				l.Admit(now, []quota.Charge{{Quota: i % 3, Key: keyOf(i % 1000), N: 1}, {Quota: (i + 1) % 3, Key: keyOf(g), N: 1}})
				l.Add(now, quota.Charge{Quota: i % 4, Key: keyOf(i * 31 % 2000), N: 2})
			}
		})
	}
	wg.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			next := slices.Clone(quotas)
			next[0].Limit += int64(i % 7)
			next[2].Shared = i%2 == 0
			if err := l.Update(next[:2+i%2]); err != nil {
				t.Error(err)
			}
			if n := l.Stats().Keys; n > 3*(500+64) {
				t.Errorf("%d keys", n)
			}
		}
	})
	wg.Wait()
}
