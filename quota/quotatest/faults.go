package quotatest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/test/pace"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/quota"
)

func testRefused(t *testing.T, h Harness) {
	s := h.Open(t)
	good := count(row(1, 1, 1), 1)
	with := func(change func(*quota.Count)) quota.Batch {
		bad := count(row(1, 2, 1), 1)
		change(&bad)
		return quota.Batch{Node: "x", Seq: 1, Counts: []quota.Count{good, bad}}
	}
	many := make([]quota.Count, quota.MaxBatch+1)
	for i := range many {
		many[i] = count(row(1, i, 1), 1)
	}
	for want, b := range map[string]quota.Batch{
		"node has 0 bytes":          {Seq: 1, Counts: []quota.Count{good}},
		"node has 256 bytes":        {Node: strings.Repeat("x", 256), Seq: 1, Counts: []quota.Count{good}},
		"seq is 0":                  {Node: "x", Counts: []quota.Count{good}},
		"4097 counts":               {Node: "x", Seq: 1, Counts: many},
		"n is -1":                   with(func(c *quota.Count) { c.N = -1 }),
		"n is 1152921504606846977":  with(func(c *quota.Count) { c.N = quota.MaxCount + 1 }),
		"floor -1":                  with(func(c *quota.Count) { c.Floor = -1 }),
		"floor 4611686018427387905": with(func(c *quota.Count) { c.Floor = quota.MaxTotal + 1 }),
		"keep -1ns":                 with(func(c *quota.Count) { c.Keep = -1 }),
		"keep 26352h":               with(func(c *quota.Count) { c.Keep = quota.MaxKeep + 1 }),
		"is there twice":            with(func(c *quota.Count) { *c = good }),
	} {
		if _, err := s.AddCounts(t.Context(), b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("AddCounts = %v, want %q", err, want)
		}
	}
	add(t, s, "x", 1, []quota.Count{good}, 1)
}

func testCancelled(t *testing.T, h Harness) {
	s := h.Open(t)
	one := []quota.Count{count(row(1, 1, 1), 5)}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	overdue, done := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer done()
	for ctx, want := range map[context.Context]error{cancelled: context.Canceled, overdue: context.DeadlineExceeded} {
		for _, counts := range [][]quota.Count{nil, one} {
			if _, err := s.AddCounts(ctx, quota.Batch{Node: "x", Seq: 1, Counts: counts}); !errors.Is(err, want) {
				t.Errorf("AddCounts = %v, want %v", err, want)
			}
		}
	}
	add(t, s, "x", 1, one, 5)
}

// Batches whose callers gave up at any moment, and sent again, count once.
func testCutOff(t *testing.T, h Harness) {
	s := h.Open(t)
	one := []quota.Count{count(row(1, 1, 1), 1), count(row(1, 2, 1), 1)}
	for seq := int64(1); seq <= 40; seq++ {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(seq)*50*time.Microsecond)
		_, err := s.AddCounts(ctx, quota.Batch{Node: "x", Seq: seq, Counts: one})
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		add(t, s, "x", seq, one, seq, seq)
	}
}

// Nodes that add to the same rows, each in its own order, lose nothing and do
// not wait for each other in a circle.
func testManyNodes(t *testing.T, h Harness) {
	s := h.Open(t)
	const nodes, rows = 8, 50
	batches := pace.Rounds(12, 4)
	suite.Together(t, nodes, func(node int) error {
		for seq := int64(1); seq <= int64(batches); seq++ {
			var counts []quota.Count
			for i := range rows {
				key := (i*(2*node+1) + int(seq)) % rows
				if node%2 == 1 {
					key = rows - 1 - key
				}
				counts = append(counts, count(row(1, key, 1), 1))
			}
			seen := map[quota.Row]bool{}
			unique := counts[:0]
			for _, c := range counts {
				if !seen[c.Row] {
					seen[c.Row] = true
					unique = append(unique, c)
				}
			}
			for _, again := range []bool{false, true} {
				totals, err := s.AddCounts(t.Context(), quota.Batch{Node: fmt.Sprint(node), Seq: seq, Counts: unique})
				if err != nil {
					return err
				}
				for i, n := range totals.N {
					if n < seq && len(unique) == rows || n > int64(nodes*batches) {
						return fmt.Errorf("node %d, batch %d (again: %v): row %d has %d", node, seq, again, i, n)
					}
				}
			}
		}
		return nil
	})
	sum := int64(0)
	var all []quota.Count
	for key := range rows {
		all = append(all, count(row(1, key, 1), 0))
	}
	totals, err := s.AddCounts(t.Context(), quota.Batch{Node: "reader", Seq: 1, Counts: all})
	suite.Must(t, err)
	for _, n := range totals.N {
		sum += n
	}
	if want := expected(nodes, batches, rows); sum != want {
		t.Errorf("%d were counted, want %d", sum, want)
	}
}

// expected is how much the nodes of testManyNodes count: those whose step
// shares a factor with the rows hit fewer of them.
func expected(nodes, batches, rows int) (sum int64) {
	for node := range nodes {
		hit := map[int]bool{}
		for i := range rows {
			hit[i*(2*node+1)%rows] = true
		}
		sum += int64(batches * len(hit))
	}
	return sum
}

// A batch that a node sends again while the first is still under way counts
// once.
func testSameAtOnce(t *testing.T, h Harness) {
	s := h.Open(t)
	const batches = 10
	for seq := int64(1); seq <= batches; seq++ {
		suite.Together(t, 4, func(int) error {
			totals, err := s.AddCounts(t.Context(), quota.Batch{Node: "x", Seq: seq, Counts: []quota.Count{count(row(1, 1, 1), 3)}})
			if err == nil && totals.N[0] != 3*seq {
				err = fmt.Errorf("batch %d gave %d, want %d", seq, totals.N[0], 3*seq)
			}
			return err
		})
	}
}

// Rows whose time is over are deleted, by whatever calls come.
func testExpiry(t *testing.T, h Harness) {
	s := h.Open(t)
	const batches, each = 10, 100
	for seq := range int64(batches) {
		counts := make([]quota.Count, each)
		for i := range counts {
			counts[i] = quota.Count{Row: row(1, i, int(seq)), N: 1, Keep: time.Microsecond}
		}
		if _, err := s.AddCounts(t.Context(), quota.Batch{Node: "x", Seq: seq + 1, Counts: counts}); err != nil {
			t.Fatal(err)
		}
	}
	stays := []quota.Count{count(row(2, 1, 1), 1)}
	add(t, s, "x", batches+1, stays, 1)
	// A call deletes a hundred at least; but a store may look at some only.
	for seq := int64(batches + 2); h.Rows(t, s) > 1; seq++ {
		suite.FatalIf(t, seq > 1000, "after %d calls %d rows are left, want 1", seq, h.Rows(t, s))
		add(t, s, "x", seq, nil)
	}
	add(t, s, "x", 2000, stays, 2)
}

// A row that is used on is kept for the longest time that was asked for.
func testKeep(t *testing.T, h Harness) {
	s := h.Open(t)
	short := func(n int64) []quota.Count {
		return []quota.Count{{Row: row(1, 1, 1), N: n, Keep: time.Microsecond}}
	}
	add(t, s, "x", 1, []quota.Count{count(row(1, 1, 1), 1)}, 1)
	add(t, s, "x", 2, short(1), 2)
	for seq := int64(3); seq < 20; seq++ {
		add(t, s, "x", seq, nil)
	}
	add(t, s, "x", 20, short(0), 2)
}
