package guard

import (
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// What metrics are told never becomes less, whoever has a name, and adds up to
// what there was.
func TestLabelsNeverCountBackwards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, err := New(Config{MaxCallers: 30})
		if err != nil {
			t.Fatal(err)
		}
		before := map[string]Tally{}
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			for range rapid.IntRange(0, 80).Draw(t, "queries") {
				g.counts.checked(
					&Query{Kind: SQL, Caller: "c" + strconv.Itoa(rapid.IntRange(0, 60).Draw(t, "caller"))},
					&Verdict{Verdict: Accepted, Cost: rapid.SampledFrom([]float64{1, 10, 10000}).Draw(t, "cost")}, time.Time{}, time.Time{},
				)
			}
			list := g.Labelled()
			if len(list) > MaxLabels+1 {
				t.Fatalf("%d names", len(list))
			}
			now := map[string]Tally{}
			for _, l := range list {
				now[l.Name] = l.Tally
				if was := before[l.Name]; l.Checked < was.Checked || l.Cost < was.Cost {
					t.Fatalf("%s had %+v and has %+v", l.Name, was, l.Tally)
				}
			}
			before = now
		}
	})
}

func TestANameGoesToWhoCostsMost(t *testing.T) {
	g, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	send := func(caller string, units float64) {
		g.counts.checked(&Query{Kind: SQL, Caller: caller}, &Verdict{Verdict: Rejected, Cost: units}, time.Time{}, time.Time{})
	}
	for i := range MaxLabels {
		send("c"+strconv.Itoa(i), 10)
	}
	send("late", 19)
	has := func(name string) bool {
		return slices.ContainsFunc(g.Labelled(), func(n NamedTally) bool { return n.Name == name })
	}
	if has("late") || !has(Others) {
		t.Error("19 is not twice 10")
	}
	send("late", 5)
	if !has("late") {
		t.Error("24 is more than twice 10")
	}
	send("late", 5)
	for _, n := range g.Labelled() {
		if want := int64(1); n.Name == "late" && n.Rejected != want {
			t.Errorf("%+v: what the others had stays theirs", n)
		}
	}
}

func TestUnitsAreKeptByTheMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		send := func() { check(g, Query{Kind: SQL, Caller: "ann", Body: []byte("select 1")}) }
		last := func(n int) []float64 { return g.Callers(1)[0].Minutes[HistoryMinutes-n:] }
		send()
		send()
		if got := last(2); !slices.Equal(got, []float64{0, 2}) {
			t.Errorf("%v", got)
		}
		time.Sleep(2 * time.Minute) // virtual
		send()
		if got := last(4); !slices.Equal(got, []float64{0, 2, 0, 1}) || !slices.Equal(g.Minutes()[HistoryMinutes-4:], got) {
			t.Errorf("%v", got)
		}
		time.Sleep(59 * time.Minute) // virtual
		if got := g.Callers(1)[0].Minutes; got[0] != 1 || slices.Max(got[1:]) != 0 {
			t.Errorf("%v", got)
		}
		time.Sleep(time.Hour) // virtual
		if slices.Max(g.Minutes()) != 0 {
			t.Errorf("%v", g.Minutes())
		}
		if j := g.Judging(); j.Queries != 3 || j.Within[0] != 3 { // time stands still
			t.Errorf("%+v", j)
		}
	})
}

func TestClassesAreCounted(t *testing.T) {
	g, err := New(Config{Limits: Limits{Classes: []Class{{Name: "a"}}}})
	if err != nil {
		t.Fatal(err)
	}
	check(g, Query{Kind: SQL, Class: "a", Body: []byte("select 1")})
	check(g, Query{Kind: SQL, Class: "nobody's", Body: []byte("update t set a = 1")})
	got := g.Classes()
	if len(got) != 2 || got[0].Name != "" || got[0].Rejected != 1 || got[1].Name != "a" || got[1].Accepted != 1 {
		t.Errorf("%+v", got)
	}
}
