package quota_test

import (
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/policy/rate"
	"github.com/bezoar-dev/bezoar/quota"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func limiter(tb testing.TB, c quota.Config) *quota.Limiter {
	tb.Helper()
	l, err := quota.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func one(key, n int) []quota.Charge { return []quota.Charge{{Key: keyOf(key), N: int64(n)}} }

func TestADecisionSaysItAll(t *testing.T) {
	l := limiter(t, quota.Config{Quotas: []quota.Quota{{Name: "r", Limit: 3, Per: time.Minute}, {Name: "b", Limit: 1, Per: time.Second, Burst: 2}}})
	b := []quota.Charge{{Quota: 1, Key: keyOf(1), N: 1}}
	for i, step := range []struct {
		charges []quota.Charge
		want    quota.Decision
	}{
		{one(1, 2), quota.Decision{Allowed: true, Limit: 3, Used: 2, Remaining: 1, Reset: 2 * time.Minute}},
		{one(1, 2), quota.Decision{Limit: 3, Used: 2, Remaining: 1, Excess: 1, Reset: 2 * time.Minute, RetryAfter: 90 * time.Second}},
		{one(1, 4), quota.Decision{Never: true, Limit: 3, Used: 2, Remaining: 1, Excess: 3, Reset: 2 * time.Minute}},
		{one(1, 0), quota.Decision{Allowed: true, Limit: 3, Used: 2, Remaining: 1, Reset: 2 * time.Minute}},
		{one(1, 1), quota.Decision{Allowed: true, Limit: 3, Used: 3, Reset: 2 * time.Minute}},
		{one(1, 0), quota.Decision{Limit: 3, Used: 3, Excess: 1, Reset: 2 * time.Minute, RetryAfter: 80 * time.Second}},
		{one(2, 1), quota.Decision{Allowed: true, Limit: 3, Used: 1, Remaining: 2, Reset: 2 * time.Minute}},
		{b, quota.Decision{Allowed: true, Quota: 1, Limit: 2, Used: 1, Remaining: 1, Reset: time.Second}},
		{b, quota.Decision{Allowed: true, Quota: 1, Limit: 2, Used: 2, Reset: 2 * time.Second}},
		{b, quota.Decision{Quota: 1, Limit: 2, Used: 2, Excess: 1, Reset: 2 * time.Second, RetryAfter: time.Second}},
		{nil, quota.Decision{Allowed: true, Quota: -1}},
		{[]quota.Charge{{Quota: 7, N: 1}}, quota.Decision{Allowed: true, Quota: -1}},
		{[]quota.Charge{{Quota: -1, N: 1}, {Quota: 2, N: 1}}, quota.Decision{Allowed: true, Quota: -1}},
	} {
		if got := l.Admit(noon, step.charges); got != step.want {
			t.Errorf("%d: %+v\nwant %+v", i, got, step.want)
		}
	}
	if s := l.Stats(); s.Keys != 3 || s.Quotas[0].Refused != 3 || s.Quotas[1].Refused != 1 || s.Quotas[0].Keys != 2 {
		t.Errorf("%+v", s)
	}
}

// Of several quotas all are charged or none; the decision names the tightest,
// or the one that refuses longest.
func TestSeveralAtOnce(t *testing.T) {
	l := limiter(t, quota.Config{Quotas: []quota.Quota{
		{Name: "wide", Limit: 100, Per: time.Second},
		{Name: "narrow", Limit: 4, Per: time.Minute},
		{Name: "bytes", Unit: quota.Bytes, Limit: 1000, Per: time.Second},
	}})
	charges := func(n ...int64) (c []quota.Charge) {
		for i, n := range n {
			c = append(c, quota.Charge{Quota: i, Key: keyOf(i), N: n})
		}
		return c
	}
	if d := l.Admit(noon, charges(1, 1, 900)); !d.Allowed || d.Quota != 2 || d.Remaining != 100 {
		t.Errorf("the tightest is bytes: %+v", d)
	}
	if d := l.Admit(noon, charges(1, 3, 200)); d.Allowed || d.Quota != 2 || d.Excess != 100 {
		t.Errorf("bytes refuses: %+v", d)
	}
	if d := l.Admit(noon, charges(1, 4, 200)); d.Allowed || d.Quota != 1 || d.Used != 1 {
		t.Errorf("narrow refuses for longer, and was not charged for what was refused: %+v", d)
	}
	if d := l.Admit(noon, charges(101, 4, 200)); d.Allowed || d.Quota != 0 || !d.Never {
		t.Errorf("wide refuses for ever: %+v", d)
	}
	if d := l.Admit(noon, charges(99, 3, 100)); !d.Allowed {
		t.Errorf("what is left fits exactly: %+v", d)
	}
	if d := l.Admit(noon, charges(0, 0, 0)); d.Allowed {
		t.Errorf("nothing is left: %+v", d)
	}
}

// Charges of the same quota and key add up, however many there are.
func TestTheSameTwice(t *testing.T) {
	l := limiter(t, quota.Config{Quotas: []quota.Quota{{Name: "r", Limit: 10, Per: time.Minute}}})
	var charges []quota.Charge
	for range 20 { // more than fit without allocating
		charges = append(charges, one(1, 1)...)
	}
	if d := l.Admit(noon, charges); d.Allowed || d.Used != 0 {
		t.Errorf("%+v", d)
	}
	for range 2 {
		if d := l.Admit(noon, charges[:5]); !d.Allowed {
			t.Errorf("%+v", d)
		}
	}
	if d := l.Admit(noon, charges[:1]); d.Allowed || d.Used != 10 {
		t.Errorf("%+v", d)
	}
}

func TestScaleAndAdd(t *testing.T) {
	l := limiter(t, quota.Config{Quotas: []quota.Quota{{Name: "r", Limit: 10, Per: time.Minute}, {Name: "b", Limit: 10, Per: time.Second, Burst: 10}}})
	for q := range 2 {
		c := []quota.Charge{{Quota: q, Key: keyOf(1), N: 5, Scale: 0.5}}
		if d := l.Admit(noon, c); !d.Allowed || d.Limit != 5 || d.Remaining != 0 {
			t.Errorf("%+v", d)
		}
		if d := l.Admit(noon, c); d.Allowed || d.Limit != 5 {
			t.Errorf("%+v", d)
		}
		c[0].Scale = 2
		// What is used of a token bucket scales with it.
		if d := l.Admit(noon, c); d.Allowed != (q == 0) || d.Limit != 20 {
			t.Errorf("%+v", d)
		}
		l.Add(noon, quota.Charge{Quota: q, Key: keyOf(1), N: 1000})
		l.Add(noon, quota.Charge{Quota: q, Key: keyOf(1), N: -1000})
		if d := l.Admit(noon, c); d.Allowed || d.Remaining != 0 || d.Never || d.RetryAfter > 2*time.Minute || d.Used < 20 {
			t.Errorf("%+v", d)
		}
		l.Add(noon, quota.Charge{Quota: q, Key: keyOf(2), N: 10})
		c[0] = quota.Charge{Quota: q, Key: keyOf(2)}
		if d := l.Admit(noon, c); d.Allowed || d.Used != 10 {
			t.Errorf("%+v", d)
		}
	}
	l.Add(noon, quota.Charge{Quota: 9, N: 1})
}

// A limiter is its policies, key by key, as long as there is room.
func TestALimiterIsItsPolicies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rate.Window{Limit: 20, Per: time.Second, Buckets: rapid.IntRange(1, quota.MaxBuckets).Draw(t, "buckets")}
		b := rate.Bucket{Limit: 7, Per: time.Second, Burst: 9}
		shared := rapid.Bool().Draw(t, "shared") // without a store that changes nothing
		l, err := quota.New(quota.Config{MaxKeys: 64 * 64, Quotas: []quota.Quota{
			{Name: "w", Limit: w.Limit, Per: w.Per, Buckets: w.Buckets, Shared: shared},
			{Name: "b", Limit: b.Limit, Per: b.Per, Burst: b.Burst, Shared: shared},
		}})
		if err != nil {
			t.Fatal(err)
		}
		windows, tokens := map[int][]int64{}, map[int][]int64{}
		now := noon
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(-int64(time.Second)/2, int64(time.Second)).Draw(t, "ns")))
			key := rapid.IntRange(0, 4).Draw(t, "key")
			n := rapid.Int64Range(1, 10).Draw(t, "n")
			window, token := windows[key], tokens[key]
			if window == nil { // a look alone leaves nothing behind, not even its time
				window, token = make([]int64, w.Words()), make([]int64, rate.BucketWords)
			}
			at := now.UnixNano()
			wd, bd := w.Check(window, at, n), b.Check(token, at, n)
			d := l.Admit(now, []quota.Charge{{Quota: 0, Key: keyOf(key), N: n}, {Quota: 1, Key: keyOf(key), N: n}})
			if d.Allowed != (wd.Allowed && bd.Allowed) {
				t.Fatalf("%+v of %+v and %+v", d, wd, bd)
			}
			if d.Allowed {
				w.Add(window, at, n)
				b.Add(token, at, n)
				windows[key], tokens[key] = window, token
			} else if wait := max(wd.Wait, bd.Wait); d.RetryAfter != wait && !d.Never {
				t.Fatalf("%+v, want to wait %v", d, wait)
			}
		}
	})
}

// Many at once take exactly the limit.
func TestManyAtOnce(t *testing.T) {
	const limit, callers, keys = 1000, 8, 3
	l := limiter(t, quota.Config{Quotas: []quota.Quota{{Name: "a", Limit: limit, Per: time.Hour}, {Name: "b", Limit: 3 * limit, Per: time.Hour, Burst: 2 * limit}}})
	var taken [keys]atomic.Int64
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := range limit {
				key := (c + i) % keys
				// The second quota is one for all; its keys and orders differ.
				charges := []quota.Charge{{Quota: 1, Key: quota.Key{}, N: 1}, {Quota: 0, Key: keyOf(key), N: 1}}
				if l.Admit(noon, charges).Allowed {
					taken[key].Add(1)
				}
			}
		})
	}
	wg.Wait()
	sum := int64(0)
	for key := range taken {
		if n := taken[key].Load(); n > limit {
			t.Errorf("key %d took %d of %d", key, n, limit)
		}
		sum += taken[key].Load()
	}
	if sum != 2*limit {
		t.Errorf("all took %d of %d", sum, 2*limit)
	}
}

func TestUpdateKeepsCounts(t *testing.T) {
	a := quota.Quota{Name: "a", Limit: 10, Per: time.Minute}
	b := quota.Quota{Name: "b", Limit: 10, Per: time.Minute, Burst: 10}
	l := limiter(t, quota.Config{Quotas: []quota.Quota{a, b}})
	for q := range 2 {
		l.Admit(noon, []quota.Charge{{Quota: q, Key: keyOf(1), N: 10}})
	}
	used := func(q int) int64 { return l.Admit(noon, []quota.Charge{{Quota: q, Key: keyOf(1)}}).Used }
	a.Limit, b.Limit, b.Burst = 15, 20, 20
	if err := l.Update([]quota.Quota{b, a}); err != nil {
		t.Fatal(err)
	}
	if used(1) != 10 {
		t.Errorf("after the update %d of a are used", used(1))
	}
	if used(0) != 20 { // the same time until it is full, at twice the rate
		t.Errorf("after the update %d of b are used", used(0))
	}
	if got := l.Quotas(); len(got) != 2 || got[1].Limit != 15 || got[1].Unit != quota.Requests || got[1].Buckets != 1 {
		t.Errorf("%+v", got)
	}
	if err := l.Update([]quota.Quota{{Name: "a", Limit: -1}}); err == nil || used(1) != 10 {
		t.Errorf("a faulty update: %v, %d", err, used(1))
	}
	a.Per = time.Hour
	if err := l.Update([]quota.Quota{b, a}); err != nil || used(1) != 0 {
		t.Errorf("%v; another quota begins with %d", err, used(1))
	}
}

func TestFaultsAreNamed(t *testing.T) {
	_, err := quota.New(quota.Config{
		Quotas: []quota.Quota{
			{Name: "", Limit: 1, Per: time.Second},
			{Name: "x", Unit: "apples", Limit: 1, Per: time.Second},
			{Name: "x", Limit: 0, Per: time.Second},
			{Name: "y", Limit: 1, Per: time.Second, Buckets: 9},
			{Name: "z", Limit: 1, Per: time.Second, Burst: 1, Buckets: 2},
		},
		MaxKeys: -1, Flush: time.Nanosecond, Timeout: time.Hour, Node: strings.Repeat("n", 201),
	})
	for _, want := range []string{
		"quota 0", "name has 0 bytes", `unit is "apples"`, "quota 2 (x): limit is 0", `quota 2: the name "x" is taken`,
		"buckets is 9", "with a burst there is no window", "max keys is -1", "flush is 1ns", "timeout is 1h0m0s", "node has 201 bytes",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not mention %q", err, want)
		}
	}
	if _, err := quota.New(quota.Config{}); err != nil {
		t.Error(err)
	}
}

func TestNothingAllocates(t *testing.T) {
	for name, q := range kinds() {
		l := limiter(t, quota.Config{Quotas: []quota.Quota{q, {Name: "other", Limit: math.MaxInt32, Per: time.Second}}})
		charges := []quota.Charge{{Key: keyOf(1), N: 1}, {Quota: 1, Key: keyOf(2), N: 1}}
		l.Admit(noon, charges)
		if n := testing.AllocsPerRun(2000, func() { // beyond the limit as well
			l.Admit(noon, charges)
			l.Admit(noon, charges[:1])
			l.Add(noon, charges[1])
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// A limiter without quotas sleeps. Keys of a quota that comes later go when they are idle, as those of any other.
func TestIdleKeysOfALaterQuotaGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startNode(t, newStore(t), 100*time.Millisecond, 0)
		pass(time.Minute)
		if err := n.Update([]quota.Quota{{Name: "w", Limit: 10, Per: time.Second}}); err != nil {
			t.Fatal(err)
		}
		for k := range 100 {
			n.Admit(time.Now(), one(k, 1))
		}
		pass(20 * time.Second)
		if s := n.Stats(); s.Keys > 0 || s.Expired != 100 {
			t.Errorf("%d keys are left, %d have expired", s.Keys, s.Expired)
		}
	})
}
