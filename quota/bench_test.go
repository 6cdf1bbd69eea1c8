package quota_test

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/quota"
)

// keyOf spreads a number over a key, as a keyed hash would.
func keyOf(n int) (k quota.Key) {
	x := uint64(n)*0x9e3779b97f4a7c15 + 1
	x ^= x >> 29
	binary.LittleEndian.PutUint64(k[:8], x*0xbf58476d1ce4e5b9)
	binary.LittleEndian.PutUint64(k[8:], x*0x94d049bb133111eb)
	return k
}

func kinds() map[string]quota.Quota {
	return map[string]quota.Quota{
		"window":        {Name: "w", Limit: 1000, Per: time.Minute},
		"window of 3":   {Name: "w3", Limit: 1000, Per: time.Minute, Buckets: 3},
		"shared window": {Name: "sw", Limit: 1000, Per: time.Minute, Shared: true},
		"token bucket":  {Name: "t", Limit: 1000, Per: time.Minute, Burst: 1000},
		"shared tokens": {Name: "st", Limit: 1000, Per: time.Minute, Burst: 1000, Shared: true},
	}
}

const million = 1_000_000

// fill returns a limiter that knows n keys.
func fill(tb testing.TB, q quota.Quota, n int) *quota.Limiter {
	tb.Helper()
	l, err := quota.New(quota.Config{Quotas: []quota.Quota{q}, MaxKeys: n + n/4})
	if err != nil {
		tb.Fatal(err)
	}
	now := time.Now()
	charges := make([]quota.Charge, 1)
	for i := range n {
		charges[0] = quota.Charge{Key: keyOf(i), N: 1}
		if !l.Admit(now, charges).Allowed {
			tb.Fatalf("key %d was refused", i)
		}
	}
	return l
}

// Every key is as likely as any other, and mostly not in the processor's cache:
// half of a decision is one look at memory. Crowds have favourites: the second
// half of the benchmark draws keys as they do.
func BenchmarkAdmitMillionKeys(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 1, million-1)
	draws := map[string]func() int{
		"uniform": func() int { return random.IntN(million) },
		"zipf":    func() int { return int(zipf.Uint64()) },
	}
	for name, q := range kinds() {
		l := fill(b, q, million)
		runtime.GC()
		for how, draw := range draws {
			b.Run(name+"/"+how, func(b *testing.B) {
				keys := make([]quota.Charge, 1<<20)
				for i := range keys {
					keys[i] = quota.Charge{Key: keyOf(draw()), N: 1}
				}
				i, now := 0, time.Now()
				b.ReportAllocs()
				for b.Loop() {
					i = (i + 1) & (len(keys) - 1)
					l.Admit(now, keys[i:i+1])
				}
			})
		}
	}
}

func BenchmarkAdmitOneKey(b *testing.B) {
	for name, q := range kinds() {
		b.Run(name, func(b *testing.B) {
			l := fill(b, q, 1)
			charges := []quota.Charge{{Key: keyOf(0), N: 1}}
			b.ReportAllocs()
			for b.Loop() {
				l.Admit(time.Now(), charges)
			}
		})
	}
}

func BenchmarkAdmitSeveral(b *testing.B) {
	for n := 2; n <= 4; n += 2 {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var quotas []quota.Quota
			var charges []quota.Charge
			for i := range n {
				quotas = append(quotas, quota.Quota{Name: strconv.Itoa(i), Limit: 1e9, Per: time.Minute})
				charges = append(charges, quota.Charge{Quota: i, Key: keyOf(i), N: 1})
			}
			l, err := quota.New(quota.Config{Quotas: quotas})
			if err != nil {
				b.Fatal(err)
			}
			now := time.Now()
			b.ReportAllocs()
			for b.Loop() {
				l.Admit(now, charges)
			}
		})
	}
}

// A newcomer to a table full of others, each of which has used little.
func BenchmarkAdmitFlood(b *testing.B) {
	l, err := quota.New(quota.Config{Quotas: []quota.Quota{kinds()["window"]}, MaxKeys: 1 << 16})
	if err != nil {
		b.Fatal(err)
	}
	charges := make([]quota.Charge, 1)
	now := time.Now()
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		charges[0] = quota.Charge{Key: keyOf(i), N: 1}
		l.Admit(now, charges)
	}
}

func BenchmarkAdmitParallel(b *testing.B) {
	l := fill(b, kinds()["window"], 100_000)
	now := time.Now()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		charges := make([]quota.Charge, 1)
		for i := 0; pb.Next(); i++ {
			charges[0] = quota.Charge{Key: keyOf(i * 7_919 % 100_000), N: 1}
			l.Admit(now, charges)
		}
	})
}
