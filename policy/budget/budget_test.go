package budget_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/policy/budget"
)

var start = time.Unix(1_000_000, 0)

// spend takes retries until the budget says no.
func spend(b *budget.Budget, now time.Time) (n int) {
	for n < 1_000_000 && b.Retry(now) {
		n++
	}
	return n
}

func TestTheFloorHoldsWithoutTraffic(t *testing.T) {
	b := budget.Budget{}
	if n := spend(&b, start); n != 30 {
		t.Errorf("%d retries at once, want 10 seconds' worth of 3", n)
	}
	if n := spend(&b, start.Add(9*time.Second)); n != 0 {
		t.Errorf("%d more within the window, want none", n)
	}
	if n := spend(&b, start.Add(10*time.Second)); n != 30 {
		t.Errorf("%d when the window has passed, want 30", n)
	}
}

func TestRetriesAreAShareOfTheTraffic(t *testing.T) {
	b := budget.Budget{Config: budget.Config{Ratio: 0.1, Floor: 1}}
	for second := range 10 {
		for range 100 {
			b.First(start.Add(time.Duration(second) * time.Second))
		}
	}
	if n := spend(&b, start.Add(9*time.Second)); n != 110 {
		t.Errorf("%d retries over 1,000 attempts, want 100 and the floor's 10", n)
	}
}

func TestAClockThatStepsBackIsNoPanic(t *testing.T) {
	b := budget.Budget{}
	b.First(start)
	b.First(time.Unix(-5, 0))
	if !b.Retry(time.Unix(-7, 0)) {
		t.Error("no retry before 1970")
	}
}

// Whatever comes, retries within any window stay within ratio × attempts of
// that window and the one before, and the floor.
func TestRetriesStayWithinTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := budget.Config{
			Ratio: rapid.Float64Range(0.01, 1).Draw(t, "ratio"),
			Floor: rapid.Float64Range(0.1, 10).Draw(t, "floor"),
		}
		if err := cfg.Validate(); err != nil {
			t.Fatal(err)
		}
		b := budget.Budget{Config: cfg}
		firsts, retries := map[int64]float64{}, map[int64]float64{}
		now := start
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			for range rapid.IntRange(0, 20).Draw(t, "first") {
				b.First(now)
				firsts[now.Unix()]++
			}
			for range rapid.IntRange(0, 20).Draw(t, "retries") {
				if b.Retry(now) {
					retries[now.Unix()]++
				}
			}
			first, retry := 0.0, 0.0
			for s := now.Unix() - 9; s <= now.Unix(); s++ {
				first += firsts[s]
				retry += retries[s]
			}
			// Retries granted for attempts that have left the window may remain.
			for s := now.Unix() - 18; s < now.Unix()-9; s++ {
				first += firsts[s]
			}
			if most := cfg.Ratio*first + 10*cfg.Floor; retry > most+1e-9 {
				t.Fatalf("%v retries in ten seconds, want at most %v", retry, most)
			}
		}
	})
}

func TestValidateNamesEveryFault(t *testing.T) {
	for _, tc := range []struct {
		cfg  budget.Config
		want string
	}{
		{budget.Config{}, "<nil>"},
		{budget.Config{Ratio: 1.5, Floor: -1}, "ratio is 1.5, want 0 to 1\nfloor is -1, want 0 or more retries a second"},
	} {
		if got := fmt.Sprint(tc.cfg.Validate()); got != tc.want {
			t.Errorf("%+v: %s, want %s", tc.cfg, got, tc.want)
		}
	}
}

func TestUsed(t *testing.T) {
	b := budget.Budget{Config: budget.Config{Ratio: 0.1, Floor: 1}}
	now := time.Unix(1_000_000, 0)
	if got := b.Used(now); got != 0 {
		t.Errorf("of a new budget %v are used", got)
	}
	for range 100 {
		b.First(now) // 10 retries, and 10 of the floor
	}
	for range 5 {
		b.Retry(now)
	}
	if got := b.Used(now); got != 0.25 {
		t.Errorf("after 5 of 20 retries %v are used", got)
	}
	spend(&b, now)
	if got := b.Used(now); got != 1 {
		t.Errorf("when none is left %v are used", got)
	}
	if got := b.Used(now.Add(time.Minute)); got != 0 {
		t.Errorf("a minute later %v are used", got)
	}
}

func ExampleBudget() {
	b := budget.Budget{Config: budget.Config{Ratio: 0.2, Floor: 0.1}}
	now := time.Unix(1_000_000, 0)
	for range 10 {
		b.First(now)
	}
	for range 4 {
		fmt.Println(b.Retry(now))
	}
	// Output:
	// true
	// true
	// true
	// false
}

func BenchmarkFirstAndRetry(b *testing.B) {
	bud := budget.Budget{}
	now := start
	b.ReportAllocs()
	for b.Loop() {
		bud.First(now)
		bud.Retry(now)
		now = now.Add(time.Millisecond)
	}
}
