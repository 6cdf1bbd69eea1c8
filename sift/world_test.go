package sift

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/backoff"
)

// world is a command and its rows, and keeps the books of a sifting.
type world struct {
	rows  int
	bad   map[int]string   // rows that fail, and how
	pairs [][2]int         // rows that fail together
	limit int              // more rows than this fail; 0 for none
	fails func(Batch) bool // fails besides
	run   func(Batch) *Outcome

	mu      sync.Mutex // guards what follows
	runs    []Batch
	done    []int // how often each row was finished
	letters map[int]Letter
	open    atomic.Int64 // outputs that were not closed
}

type output struct {
	io.Reader
	w *world
}

func (o output) Close() error { o.w.open.Add(-1); return nil }

func bug(fault string) Outcome {
	return Outcome{Class: bezoar.Bug, Failure: Failure{Type: "Error", Fingerprint: fault}}
}

func (w *world) outcome(b Batch) Outcome {
	if w.run != nil {
		if o := w.run(b); o != nil {
			return *o
		}
	}
	for _, s := range b.Spans() {
		for r := s.From; r < s.To; r++ { // the first bad one is met first
			if fault, ok := w.bad[r]; ok {
				return bug(fault)
			}
		}
	}
	for _, p := range w.pairs {
		if has(b, p[0]) && has(b, p[1]) {
			return bug("pair")
		}
	}
	if w.limit > 0 && b.Len() > w.limit {
		return bug("limit")
	}
	if w.fails != nil && w.fails(b) {
		return bug("besides")
	}
	return Outcome{}
}

func has(b Batch, row int) bool {
	return slices.ContainsFunc(b.Spans(), func(s Span) bool { return s.From <= row && row < s.To })
}

func (w *world) sift(t interface {
	Helper()
	Errorf(string, ...any)
}, change func(*Config),
) (Summary, error) {
	t.Helper()
	w.done, w.letters = make([]int, w.rows), map[int]Letter{}
	return w.again(t, change)
}

// again goes on without forgetting what was done.
func (w *world) again(t interface {
	Helper()
	Errorf(string, ...any)
}, change func(*Config),
) (Summary, error) {
	t.Helper()
	var calls atomic.Int32
	single := func() func() {
		if calls.Add(1) != 1 {
			t.Errorf("two calls at once")
		}
		return func() { calls.Add(-1) }
	}
	cfg := Config{
		Rows: w.rows,
		Run: func(_ context.Context, b Batch) Outcome {
			o := w.outcome(b)
			w.mu.Lock()
			w.runs = append(w.runs, b)
			w.mu.Unlock()
			w.open.Add(1)
			o.Output = output{strings.NewReader(""), w}
			return o
		},
		Finish: func(b Batch, _ Outcome) error {
			defer single()()
			for _, s := range b.Spans() {
				for r := s.From; r < s.To; r++ {
					w.done[r]++
				}
			}
			return nil
		},
		SetAside: func(l Letter) error {
			defer single()()
			if _, twice := w.letters[l.Row]; twice {
				t.Errorf("row %d was set aside twice", l.Row)
			}
			w.letters[l.Row] = l
			return nil
		},
		Progress: func(p Progress) {
			defer single()()
			if p.Done+p.Letters > p.Rows || p.Failed > p.Runs {
				t.Errorf("progress %+v", p)
			}
		},
		Backoff: backoff.Config{Base: time.Microsecond, Cap: time.Millisecond},
	}
	if change != nil {
		change(&cfg)
	}
	sum, err := Run(context.Background(), cfg)
	if n := w.open.Load(); n != 0 {
		t.Errorf("%d outputs were not closed", n)
	}
	return sum, err
}

// settled wants that every bad row and nothing else was set aside, and everything
// else was finished once.
func (w *world) settled(t interface{ Errorf(string, ...any) }) {
	for r, n := range w.done {
		_, bad := w.bad[r]
		_, letter := w.letters[r]
		if bad != letter || !bad && n != 1 || bad && n != 0 {
			t.Errorf("row %d of %d: bad %v, set aside %v, finished %d times; runs: %v", r, w.rows, bad, letter, n, w.runs)
			return
		}
	}
}

func badRows(fault string, rows ...int) map[int]string {
	m := map[int]string{}
	for _, r := range rows {
		m[r] = fault
	}
	return m
}

func (w *world) String() string {
	return fmt.Sprintf("%d rows, bad %v, pairs %v, limit %d", w.rows, w.bad, w.pairs, w.limit)
}

func TestSevenOfAMillion(t *testing.T) {
	for _, c := range []struct {
		name string
		bad  []int
	}{
		{"spread", []int{70_001, 200_002, 333_333, 480_004, 610_005, 777_777, 999_998}},
		{"first and last", []int{0, 1, 2, 3, 999_997, 999_998, 999_999}},
		{"at the places that are asked", []int{618_000, 100, 200, 300, 400, 500, 600}},
		{"in one batch", []int{62_500, 70_000, 80_000, 90_000, 100_000, 110_000, 124_999}},
		{"alternating", []int{500_001, 500_003, 500_005, 500_007, 500_009, 500_011, 500_013}},
	} {
		t.Run(c.name, func(t *testing.T) {
			const n = 1_000_000
			w := &world{rows: n, bad: badRows("same", c.bad...)}
			sum, err := w.sift(t, nil)
			if err != nil {
				t.Fatal(err)
			}
			w.settled(t)
			bound, over := Bound(n, 7), Overhead(7, sum.Batches)
			t.Logf("%d runs for 7 bad of %d rows; 7·log2(n) = %.1f, overhead %d", sum.Runs, n, bound, over)
			if float64(sum.Runs) > bound+float64(over) {
				t.Errorf("%d runs, more than %.1f + %d", sum.Runs, bound, over)
			}
			work := 0
			for _, b := range w.runs {
				work += b.Len()
			}
			if work > 3*n {
				t.Errorf("%d rows were run for %d", work, n)
			}
		})
	}
}
