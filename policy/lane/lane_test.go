package lane_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/policy/lane"
)

var now = time.Unix(1_000_000, 0)

// since is when somebody began to wait who has waited for ms.
func since(ms int) time.Time { return now.Add(-time.Duration(ms) * time.Millisecond) }

func TestPick(t *testing.T) {
	proven := func(score float64, ms int) lane.Entry {
		return lane.Entry{Score: score, Proven: true, Since: since(ms)}
	}
	for _, tc := range []struct {
		name    string
		entries []lane.Entry
		want    []int
	}{
		{"nobody", nil, []int{}},
		{"one suspect", []lane.Entry{{Score: 0.5, Since: since(1)}}, []int{0}},
		{"the most suspicious first", []lane.Entry{{Score: 0.2, Since: since(9)}, {Score: 0.9, Since: since(1)}}, []int{1}},
		{"the longest wait among equals", []lane.Entry{{Score: 0.5, Since: since(1)}, {Score: 0.5, Since: since(9)}}, []int{1}},
		{"proven work with little against it together", []lane.Entry{proven(0.01, 1), proven(0.02, 9)}, []int{1, 0}},
		{"not with an eighth of a crash", []lane.Entry{proven(0.01, 1), proven(0.125, 1)}, []int{1}},
		{"never what has not succeeded", []lane.Entry{{Score: 0.01, Since: since(1)}, {Score: 0.01, Since: since(2)}}, []int{1}},
		{"never what must be single", []lane.Entry{{Score: 0.01, Proven: true, Single: true, Since: since(1)}, proven(0.01, 5)}, []int{0}},
		{"an impatient batch before a newcomer", []lane.Entry{{Score: 0.9, Since: since(100)}, proven(0.01, 2000), proven(0, 3)}, []int{1, 2}},
		{"but after who has waited longer", []lane.Entry{{Score: 0.9, Since: since(2500)}, proven(0.01, 2000)}, []int{0}},
		{"overdue before suspicion", []lane.Entry{{Score: 0.9, Since: since(100)}, {Score: 0.1, Since: since(2000)}}, []int{1}},
		{"what has killed the lane last", []lane.Entry{{Score: 2, Died: 1, Since: since(5000)}, {Score: 0.1, Since: since(1)}}, []int{1}},
		{"but not behind others that take time", []lane.Entry{{Score: 3, Died: 1, Late: true, Since: since(100)}, {Score: 1, Late: true, Since: since(900)}}, []int{0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := lane.Pick(now, tc.entries, []int{7, 7, 7}); !slices.Equal(got, tc.want) {
				t.Errorf("picked %v, want %v", got, tc.want)
			}
		})
	}
}

func drawEntries(t *rapid.T) []lane.Entry {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) lane.Entry {
		return lane.Entry{
			Score: rapid.Float64Range(0, 3).Draw(t, "score"), Proven: rapid.Bool().Draw(t, "proven"),
			Single: rapid.Bool().Draw(t, "single"), Died: rapid.IntRange(0, 2).Draw(t, "died"),
			Since: since(rapid.IntRange(0, 5000).Draw(t, "ms")),
		}
	}), 0, 200).Draw(t, "entries")
}

func TestWhatIsPicked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := drawEntries(t)
		got := lane.Pick(now, entries, nil)
		if len(entries) > 0 != (len(got) > 0) || len(got) > lane.MaxBatch {
			t.Fatalf("picked %d of %d", len(got), len(entries))
		}
		seen := map[int]bool{}
		for _, i := range got {
			if seen[i] || i < 0 || i >= len(entries) {
				t.Fatalf("picked %v of %d", got, len(entries))
			}
			seen[i] = true
			if e := entries[i]; len(got) > 1 && (!e.Proven || e.Single || e.Score >= lane.BatchBelow) {
				t.Fatalf("%+v shares a batch of %d", e, len(got))
			}
		}
	})
}

// Everybody who has not killed the lane gets a turn, however many more
// suspicious newcomers there are.
func TestNobodyStarves(t *testing.T) {
	at := now
	entries := []lane.Entry{
		{Score: 0.01, Proven: true, Since: at},
		{Score: 0.01, Since: at},
	}
	for turn := range 100 {
		entries = append(entries, lane.Entry{Score: 1, Since: at})
		at = at.Add(100 * time.Millisecond)
		picked := lane.Pick(at, entries, nil)
		slices.Sort(picked)
		for _, i := range slices.Backward(picked) {
			entries = slices.Delete(entries, i, i+1)
		}
		if !slices.ContainsFunc(entries, func(e lane.Entry) bool { return e.Score < 1 }) {
			t.Logf("all had their turn after %d", turn)
			return
		}
	}
	t.Errorf("100 turns later there still wait %+v", entries)
}

func ExamplePick() {
	now := time.Unix(1_000_000, 0)
	waiting := []lane.Entry{
		{Score: 0.02, Proven: true, Since: now},
		{Score: 0.93, Since: now},
		{Score: 0.05, Proven: true, Since: now},
	}
	fmt.Println(lane.Pick(now, waiting, nil))
	fmt.Println(lane.Pick(now, slices.Delete(waiting, 1, 2), nil))
	// Output:
	// [1]
	// [0 1]
}

func BenchmarkPick(b *testing.B) {
	entries := make([]lane.Entry, 512)
	for i := range entries {
		entries[i] = lane.Entry{Score: float64(i%7) / 40, Proven: i%2 == 0, Since: since(i)}
	}
	dst := make([]int, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		dst = lane.Pick(now, entries, dst)
	}
}

// Next starts suspects beside each other only in a crowd, one after the other, and
// never beside what must run alone.
func TestNext(t *testing.T) {
	plain := func(ms int) lane.Entry { return lane.Entry{Score: 0.1, Since: since(ms)} }
	late := lane.Entry{Score: 0.1, Late: true, Single: true, Since: since(9000)}
	single := lane.Entry{Score: 0.9, Single: true, Since: since(1)}
	for _, tc := range []struct {
		name      string
		entries   []lane.Entry
		run       lane.Running
		crowded   bool
		want      []int
		exclusive bool
		after     time.Duration
	}{
		{"nobody waits", nil, lane.Running{}, true, nil, false, 0},
		{"few run alone", []lane.Entry{plain(2), plain(1)}, lane.Running{}, false, []int{0}, true, 0},
		{"nothing beside it", []lane.Entry{plain(1)}, lane.Running{Count: 1, Exclusive: true}, false, nil, false, 0},
		{"the first of a crowd", []lane.Entry{plain(2), plain(1)}, lane.Running{}, true, []int{0}, false, 0},
		{"the next of a crowd a little later", []lane.Entry{plain(1)}, lane.Running{Count: 1, Last: since(4)}, true, nil, false, 6 * time.Millisecond},
		{"the next of a crowd", []lane.Entry{plain(1)}, lane.Running{Count: 1, Last: since(10)}, true, []int{0}, false, 0},
		{"what must run alone waits until it is empty", []lane.Entry{plain(1), single}, lane.Running{Count: 1, Last: since(10)}, true, nil, false, 0},
		{"and runs alone then", []lane.Entry{plain(1), single}, lane.Running{}, true, []int{1}, true, 0},
		{"what takes time behind it does not hold up others", []lane.Entry{late, plain(1)}, lane.Running{Count: 1, Last: since(10)}, true, []int{1}, false, 0},
		{"nor more than may run together", []lane.Entry{plain(1)}, lane.Running{Count: 4, Limit: 4, Last: since(10)}, true, nil, false, 0},
		{"nor beside more than it may run with", []lane.Entry{{Limit: 2, Since: since(1)}}, lane.Running{Count: 2, Last: since(10)}, true, nil, false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, exclusive, after := lane.Next(now, tc.entries, tc.run, tc.crowded, 10*time.Millisecond, nil)
			if !slices.Equal(got, tc.want) || exclusive != tc.exclusive || after != tc.after {
				t.Errorf("starts %v, exclusive %v, asks again in %v; want %v, %v, %v", got, exclusive, after, tc.want, tc.exclusive, tc.after)
			}
		})
	}
}

// What has much of the blame is watched for as long as the observation window; the rest of
// the streams leave the lane to others soon.
func TestStreamsSettleByTheirBlame(t *testing.T) {
	for _, tc := range []struct {
		share float64
		want  time.Duration
	}{{0, 300 * time.Millisecond}, {0.24, 300 * time.Millisecond}, {0.25, time.Second}, {1.5, time.Second}} {
		if got := lane.Settled(tc.share); got != tc.want {
			t.Errorf("with %.2f of the blame it settles after %v, want %v", tc.share, got, tc.want)
		}
	}
}
