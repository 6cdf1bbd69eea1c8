package quotatest

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/quota"
)

func testTotals(t *testing.T, h Harness) {
	s := h.Open(t)
	a, b := row(1, 1, 1), row(1, 2, 1)
	add(t, s, "x", 1, []quota.Count{count(b, 5), count(a, 3)}, 5, 3)
	add(t, s, "y", 1, []quota.Count{count(a, 10)}, 13)
	add(t, s, "x", 2, []quota.Count{count(a, 1), count(row(9, 9, 9), 0), count(b, 0)}, 14, 0, 5)
	add(t, s, "y", 2, []quota.Count{count(b, 2), count(a, 0)}, 7, 14)
}

func testFloors(t *testing.T, h Harness) {
	s := h.Open(t)
	lift := func(floor, n int64) []quota.Count {
		c := count(row(1, 1, 0), n)
		c.Floor = floor
		return []quota.Count{c}
	}
	add(t, s, "x", 1, lift(1000, 10), 1010)
	add(t, s, "x", 2, lift(1000, 10), 1020) // above the floor already
	add(t, s, "y", 1, lift(900, 1), 1021)
	add(t, s, "x", 3, lift(5000, 0), 1021) // reads
	add(t, s, "x", 4, lift(5000, 7), 5007)
	add(t, s, "y", 2, lift(0, 7), 5014)
}

func testApart(t *testing.T, h Harness) {
	s := h.Open(t)
	var counts []quota.Count
	var want []int64
	for q := range 3 {
		for key := range 3 {
			for bucket := range 3 {
				n := int64(1 + q + 10*key + 100*bucket)
				counts, want = append(counts, count(row(q, key, bucket), n)), append(want, n)
			}
		}
	}
	add(t, s, "x", 1, counts, want...)
}

func testAnyValues(t *testing.T, h Harness) {
	s := h.Open(t)
	var full quota.Key
	for i := range full {
		full[i] = 0xff
	}
	counts := []quota.Count{
		{Row: quota.Row{Quota: math.MaxUint64, Key: full, Bucket: math.MaxInt64}, N: quota.MaxCount, Keep: quota.MaxKeep},
		{Row: quota.Row{Quota: 1 << 63, Bucket: math.MinInt64}, N: 1, Floor: quota.MaxTotal, Keep: time.Hour},
		{Row: quota.Row{Quota: 1 << 62, Key: quota.Key{'\'', 0, '\\', '"', '$', '1'}, Bucket: -1}, N: 1, Keep: time.Hour},
	}
	node := "\x00it's \xff\\" + strings.Repeat("n", 240)
	want := int64(quota.MaxCount)
	for seq := range int64(6) {
		add(t, s, node, seq+1, counts, want, quota.MaxTotal, seq+1)
		want = min(want+quota.MaxCount, quota.MaxTotal)
	}
}

// What is sent again, or comes late, is not added again; it reads what is there.
func testAgain(t *testing.T, h Harness) {
	s := h.Open(t)
	one := []quota.Count{count(row(1, 1, 1), 5)}
	add(t, s, "x", 1, one, 5)
	add(t, s, "x", 1, one, 5)
	add(t, s, "y", 1, one, 10) // another's Seq is its own
	add(t, s, "x", 7, one, 15) // there may be gaps
	add(t, s, "x", 7, one, 15)
	add(t, s, "x", 6, one, 15)
	add(t, s, "y", 2, []quota.Count{count(row(1, 1, 1), 0), count(row(1, 2, 1), 2)}, 15, 2)
	add(t, s, "y", 1, []quota.Count{count(row(1, 2, 1), 2), count(row(1, 1, 1), 9)}, 2, 15)
	add(t, s, "x", 8, one, 20)
}

func testReading(t *testing.T, h Harness) {
	s := h.Open(t)
	for seq := range int64(3) {
		add(t, s, "x", seq+1, []quota.Count{count(row(1, 1, 1), 0), count(row(1, 2, 1), 0)}, 0, 0)
	}
	if n := h.Rows(t, s); n != 0 {
		t.Errorf("reading made %d rows", n)
	}
}

func testBiggest(t *testing.T, h Harness) {
	s := h.Open(t)
	counts := make([]quota.Count, quota.MaxBatch)
	want := make([]int64, quota.MaxBatch)
	for i := range counts {
		counts[i], want[i] = count(row(1, i, 1), int64(i+1)), int64(i+1)
	}
	rand.Shuffle(len(counts), func(i, j int) {
		counts[i], counts[j] = counts[j], counts[i]
		want[i], want[j] = want[j], want[i]
	})
	add(t, s, "x", 1, counts, want...)
	if n := h.Rows(t, s); n != quota.MaxBatch {
		t.Errorf("%d rows are there, want %d", n, quota.MaxBatch)
	}
}

// The clock is there with every batch, also one without counts, and goes on.
func testClock(t *testing.T, h Harness) {
	s := h.Open(t)
	first := add(t, s, "x", 1, nil).Now
	suite.FatalIf(t, first.IsZero(), "the store does not say what time it is")
	for seq := int64(2); seq < 5; seq++ {
		now := add(t, s, "x", seq, []quota.Count{count(row(1, 1, 1), 1)}, seq-1).Now
		suite.ErrorIf(t, now.Before(first) || now.Sub(first) > time.Minute, "the clock went from %v to %v", first, now)
		first = now
	}
}

// Random batches of some nodes, in and out of turn, and a map.
func testModel(t *testing.T, h Harness) {
	s := h.Open(t)
	rows, last := map[quota.Row]int64{}, map[string]int64{}
	random := rand.New(rand.NewPCG(1, 2))
	for range 150 {
		b := quota.Batch{Node: []string{"x", "y", "z"}[random.IntN(3)]}
		b.Seq = max(last[b.Node]+int64(random.IntN(4))-1, 1)
		used := map[quota.Row]bool{}
		for range random.IntN(20) {
			r := row(random.IntN(2), random.IntN(6), random.IntN(3))
			if !used[r] {
				b.Counts = append(b.Counts, quota.Count{Row: r, N: int64(random.IntN(3)), Floor: int64(random.IntN(300)), Keep: time.Hour})
				used[r] = true
			}
		}
		adds := b.Adds() && b.Seq > last[b.Node]
		var want []int64
		for _, c := range b.Counts {
			if adds {
				rows[c.Row] = c.Total(rows[c.Row])
			}
			want = append(want, rows[c.Row])
		}
		if adds {
			last[b.Node] = b.Seq
		}
		add(t, s, b.Node, b.Seq, b.Counts, want...)
	}
}

func testReopen(t *testing.T, h Harness) {
	s := h.Open(t)
	one := []quota.Count{count(row(1, 1, 1), 5)}
	add(t, s, "x", 3, one, 5)
	for range 2 {
		s = h.Reopen(t, s)
		add(t, s, "x", 3, one, 5)
	}
	add(t, s, "x", 4, one, 10)
}
