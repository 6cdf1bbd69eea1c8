package sketch

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// sound fails when what the sketch promises of itself does not hold.
func sound(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *Sketch, k int,
) {
	t.Helper()
	sum := uint64(0)
	for c := range s.All {
		sum += c.Count
		if at, found := s.find(c.Key); !found || s.counters[s.index[at]-1].key != c.Key {
			t.Fatalf("key %d has a counter and is not found", c.Key)
		}
		if c.Count < s.Min() || c.Over > s.Min() {
			t.Fatalf("key %d counts %d with %d over, and the least is %d", c.Key, c.Count, c.Over, s.Min())
		}
	}
	if sum != s.Total() || s.Len() > k || s.Min() > s.Total()/uint64(k) {
		t.Fatalf("%d counters of %d add up to %d of %d; the least is %d", s.Len(), k, sum, s.Total(), s.Min())
	}
	for i, n := range s.heap {
		if s.counters[n.place].at != i || n.count < s.heap[max(i-1, 0)/2].count {
			t.Fatalf("the heap is not in order at %d", i)
		}
	}
}

func TestCountsAreWithinTheirErrors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 20).Draw(t, "k")
		s, exact := New(k), map[uint64]uint64{}
		for range rapid.IntRange(0, 300).Draw(t, "n") {
			key := rapid.Uint64Range(0, 60).Draw(t, "key") // neighbours collide in the index
			w := rapid.Uint64Range(0, 9).Draw(t, "w")
			name := MakeName(fmt.Sprint(key))
			s.Add(key, &name, w)
			exact[key] += w
		}
		sound(t, s, k)
		listed := map[uint64]bool{}
		for c := range s.All {
			listed[c.Key] = true
			if c.Count < exact[c.Key] || c.Count-c.Over > exact[c.Key] || c.Name.String() != fmt.Sprint(c.Key) {
				t.Fatalf("key %d (%s): %d with %d over, it is %d", c.Key, &c.Name, c.Count, c.Over, exact[c.Key])
			}
		}
		for key, n := range exact {
			if n > s.Total()/uint64(k) && !listed[key] {
				t.Fatalf("key %d has %d of %d and is not listed", key, n, s.Total())
			}
		}
	})
}

func TestAWindowIsWithinItsError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{
			Counters: rapid.IntRange(1, 8).Draw(t, "counters"), Slots: rapid.IntRange(1, 5).Draw(t, "slots"), Slot: time.Second,
		}
		w, err := NewWindow(cfg)
		if err != nil {
			t.Fatal(err)
		}
		type event struct {
			at  time.Time
			key uint64
			n   uint64
		}
		var all []event
		now := time.Unix(1_800_000_000, 0).Add(time.Duration(rapid.IntRange(0, 999).Draw(t, "ms")) * time.Millisecond)
		for range rapid.IntRange(1, 100).Draw(t, "n") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 10, 300, 1500, 9000}).Draw(t, "pause")) * time.Millisecond)
			e := event{now, rapid.Uint64Range(0, 20).Draw(t, "key"), rapid.Uint64Range(1, 5).Draw(t, "weight")}
			name := MakeName("x")
			if e.key == 0 {
				w.Add(e.at, 0, nil, e.n) // nobody
			} else {
				w.Add(e.at, e.key, &name, e.n)
			}
			all = append(all, e)
		}
		sum := w.Sum(now)
		if d := now.Sub(sum.Since); d > time.Duration(cfg.Slots+1)*cfg.Slot || d < time.Duration(cfg.Slots)*cfg.Slot && !sum.Since.Equal(all[0].at) {
			t.Fatalf("it covers %v", d)
		}
		exact, total := map[uint64]uint64{}, uint64(0)
		for _, e := range all {
			if !e.at.Before(sum.Since) {
				exact[e.key] += e.n
				total += e.n
			}
		}
		if sum.Total != total || sum.Error > total/uint64(cfg.Counters) {
			t.Fatalf("it has %d with an error of %d, want %d", sum.Total, sum.Error, total)
		}
		listed := map[uint64]bool{}
		for i, c := range sum.Counts {
			listed[c.Key] = true
			if c.Count < exact[c.Key] || c.Count-c.Over > exact[c.Key] || c.Over > sum.Error {
				t.Fatalf("key %d: %d with %d over, it is %d", c.Key, c.Count, c.Over, exact[c.Key])
			}
			if i > 0 && c.Count > sum.Counts[i-1].Count {
				t.Fatal("the largest is not first")
			}
		}
		for key, n := range exact {
			if key != 0 && n > sum.Error && !listed[key] {
				t.Fatalf("key %d has %d and is not listed; the error is %d", key, n, sum.Error)
			}
		}
	})
}

// Whoever floods with new names does not push out who has most.
func TestAFloodOfKeysDoesNotHideTheLargest(t *testing.T) {
	w, err := NewWindow(Config{Counters: 64})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	now, heavy, other := time.Unix(1_800_000_000, 0), MakeName("heavy"), MakeName("one of many")
	for i := range 200_000 {
		now = now.Add(time.Millisecond)
		if i%25 == 0 { // 4 %
			w.Add(now, 7, &heavy, 1)
		} else {
			w.Add(now, r.Uint64(), &other, 1)
		}
	}
	sum := w.Sum(now)
	if c := sum.Counts[0]; c.Key != 7 || c.Name.String() != "heavy" {
		t.Errorf("the first is %s", &c.Name)
	}
	if w.Evicted() == 0 || len(sum.Counts) > 7*64 {
		t.Errorf("%d keys are kept, %d lost theirs", len(sum.Counts), w.Evicted())
	}
}

func TestOldSlotsDoNotCount(t *testing.T) {
	w, err := NewWindow(Config{Counters: 4, Slots: 2, Slot: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	now, name := time.Unix(1_800_000_000, 0), MakeName("a")
	w.Add(now, 1, &name, 5)
	w.Add(now.Add(-time.Hour), 1, &name, 1) // a clock that went back
	for _, tc := range []struct {
		after time.Duration
		want  uint64
	}{{0, 6}, {2 * time.Second, 6}, {3 * time.Second, 0}, {time.Hour, 0}} {
		if got := w.Sum(now.Add(tc.after)).Total; got != tc.want {
			t.Errorf("after %v there are %d, want %d", tc.after, got, tc.want)
		}
	}
}

func TestNamesAreCutBetweenCharacters(t *testing.T) {
	for _, s := range []string{"", "alice", strings.Repeat("x", MaxName), strings.Repeat("x", MaxName+1), strings.Repeat("é", 80), strings.Repeat("😀", 40), strings.Repeat("\x80", 200)} {
		n := MakeName(s)
		got := n.String()
		switch {
		case len(s) <= MaxName && got != s:
			t.Errorf("%q has become %q", s, got)
		case len(got) > MaxName || utf8.ValidString(s) && !utf8.ValidString(got):
			t.Errorf("%q has become %q", s, got)
		case len(s) > MaxName && (!strings.HasSuffix(got, "…") || !strings.HasPrefix(s, strings.TrimSuffix(got, "…"))):
			t.Errorf("%q has become %q", s, got)
		}
	}
}

func TestConfigsNameEveryFault(t *testing.T) {
	_, err := NewWindow(Config{Counters: -1, Slots: 2000, Slot: -1})
	want := "window: Counters is -1, want 1 to 16384\nSlots is 2000, want 1 to 1000\nSlot is -1ns, want more than 0s"
	if fmt.Sprint(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestAddingAllocatesNothing(t *testing.T) {
	w, err := NewWindow(Config{Counters: 32, Slot: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	now, name, key := time.Unix(1_800_000_000, 0), MakeName("a"), uint64(0)
	if n := testing.AllocsPerRun(1000, func() {
		key, now = key+1, now.Add(100*time.Microsecond)
		w.Add(now, key*key, &name, key%7)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func ExampleWindow() {
	w, err := NewWindow(Config{Counters: 2, Slots: 6, Slot: 10 * time.Second})
	if err != nil {
		panic(err)
	}
	now := time.Unix(1_800_000_000, 0)
	for i, caller := range []string{"alice", "bob", "alice", "mallory", "alice"} {
		name := MakeName(caller)
		w.Add(now.Add(time.Duration(i)*time.Second), uint64(caller[0]), &name, 1)
	}
	sum := w.Sum(now.Add(5 * time.Second))
	for _, c := range sum.Counts {
		fmt.Printf("%s %d to %d of %d\n", &c.Name, c.Count-c.Over, c.Count, sum.Total)
	}
	// Output:
	// alice 3 to 3 of 5
	// mallory 1 to 2 of 5
}

func BenchmarkAdd(b *testing.B) {
	for name, keys := range map[string]int{"known": 100, "flood": 1 << 20} {
		b.Run(name, func(b *testing.B) {
			s, n, i := New(128), MakeName("a caller"), 0
			r := rand.New(rand.NewPCG(1, 2))
			all := make([]uint64, keys)
			for i := range all {
				all[i] = r.Uint64()
			}
			b.ReportAllocs()
			for b.Loop() {
				s.Add(all[i%len(all)], &n, 3)
				i++
			}
		})
	}
}
