package budget_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/policy/budget"
)

const offender = 1 << 40 // no newcomer's number

func TestAFloodEvictsNobodyThatIsOver(t *testing.T) {
	for _, retry := range []bool{false, true} {
		tab := budget.NewTable(budget.Config{Floor: 0.5}, 64)
		granted := 0
		for tab.Retry(start, offender) {
			granted++
		}
		if granted != 5 {
			t.Fatalf("%d retries granted, want 5", granted)
		}
		for i := range uint64(100_000) {
			now := start.Add(time.Duration(i) * 90 * time.Microsecond) // 9 s in all
			tab.First(now, i)
			if retry {
				tab.Retry(now, i)
			}
		}
		if tab.Retry(start.Add(9*time.Second), offender) {
			t.Errorf("after a flood (with retries: %v) the caller that was over is granted another", retry)
		}
		if n := tab.Len(); n != 64 {
			t.Errorf("%d callers have a place, want 64", n)
		}
		if !tab.Retry(start.Add(10*time.Second), offender) {
			t.Error("its budget does not come back")
		}
	}
}

func TestNewcomersShareWhatIsLeft(t *testing.T) {
	tab := budget.NewTable(budget.Config{Floor: 0.5}, 4)
	for i := range uint64(4) {
		tab.Retry(start, i)
	}
	granted := 0
	for i := range uint64(1000) {
		if tab.Retry(start, 100+i) {
			granted++
		}
	}
	if granted != 5 {
		t.Errorf("a thousand callers without a place were granted %d retries, want one caller's 5", granted)
	}
}

// Whatever other callers do, one caller is granted at most its own budget and
// that of those without a place, and the table stays within its size.
func TestNoCallerIsGrantedMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := budget.Config{Ratio: rapid.Float64Range(0.01, 1).Draw(t, "ratio"), Floor: rapid.Float64Range(0.1, 3).Draw(t, "floor")}
		size := rapid.IntRange(1, 8).Draw(t, "size")
		tab := budget.NewTable(cfg, size)
		const callers = 12
		firsts, granted := [callers]map[int64]float64{}, [callers]map[int64]float64{}
		for c := range callers {
			firsts[c], granted[c] = map[int64]float64{}, map[int64]float64{}
		}
		now := start
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 1500).Draw(t, "ms")) * time.Millisecond)
			c := rapid.IntRange(0, callers-1).Draw(t, "caller")
			for range rapid.IntRange(0, 10).Draw(t, "first") {
				tab.First(now, uint64(c))
				firsts[c][now.Unix()]++
			}
			for range rapid.IntRange(0, 10).Draw(t, "retries") {
				if tab.Retry(now, uint64(c)) {
					granted[c][now.Unix()]++
				}
			}
			within(t, cfg, now, firsts[:], granted[:])
			if tab.Len() > size {
				t.Fatalf("%d callers have a place, want at most %d", tab.Len(), size)
			}
		}
	})
}

// within checks what each caller was granted in the last ten seconds.
func within(t *rapid.T, cfg budget.Config, now time.Time, firsts, granted []map[int64]float64) {
	all, own := 0.0, make([]float64, len(firsts))
	for c := range firsts {
		for s := now.Unix() - 18; s <= now.Unix(); s++ {
			own[c] += firsts[c][s]
		}
		all += own[c]
	}
	for c := range granted {
		sum := 0.0
		for s := now.Unix() - 9; s <= now.Unix(); s++ {
			sum += granted[c][s]
		}
		if most := cfg.Ratio*(own[c]+all) + 20*cfg.Floor; sum > most+1e-9 {
			t.Fatalf("caller %d was granted %v retries in ten seconds, want at most %v", c, sum, most)
		}
	}
}

func TestWhatIsCountedOrReturnedShows(t *testing.T) {
	b := budget.Budget{Config: budget.Config{Floor: 0.3}}
	b.Count(start) // as one is that cannot be refused
	b.Count(start)
	if n := spend(&b, start); n != 1 {
		t.Errorf("%d retries beside two that were counted, want 1", n)
	}
	b.Return(start)
	if n := spend(&b, start); n != 1 {
		t.Errorf("%d retries after one was returned, want 1", n)
	}
	for range 10 {
		b.Return(start)
	}
	if n := spend(&b, start); n != 3 {
		t.Errorf("%d retries after more were returned than taken, want 3", n)
	}
}

func ExampleTable() {
	tab := budget.NewTable(budget.Config{Ratio: 0.2, Floor: 0.1}, 1000)
	now := time.Unix(1_000_000, 0)
	for range 2 {
		fmt.Println("greedy", tab.Retry(now, 1), "modest", tab.Retry(now, 2))
		tab.Return(now, 2) // it succeeded before its retry was due
	}
	// Output:
	// greedy true modest true
	// greedy false modest true
}

func BenchmarkTable(b *testing.B) {
	tab := budget.NewTable(budget.Config{}, 4096)
	now, n := start, uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		n++
		tab.First(now, n%5000)
		now = now.Add(10 * time.Microsecond)
	}
}
