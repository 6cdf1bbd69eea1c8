package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/jackc/pgx/v5/pgconn"
)

// echo is a combiner of numbers whose first call waits until it is let go.
type echo struct {
	combiner[string, int, string]
	hold chan struct{}

	mu       sync.Mutex // guards all below
	together [][]int
	alone    []int
	undone   []string
	err      error // of what goes together
	split    bool  // it cannot
}

func newEcho() *echo {
	e := &echo{hold: make(chan struct{})}
	e.weight = func(n int) int { return n }
	e.combiner.do = func(_ context.Context, _ string, in []int) ([]string, bool, error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.together = append(e.together, in)
		if e.err != nil || e.split {
			return nil, false, e.err
		}
		var out []string
		for _, n := range in {
			out = append(out, fmt.Sprint(n))
		}
		return out, true, nil
	}
	e.combiner.alone = func(ctx context.Context, _ string, n int) (string, error) {
		select {
		case <-e.hold:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.alone = append(e.alone, n)
		return fmt.Sprint(n), nil
	}
	e.lost = func(_, out string) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.undone = append(e.undone, out)
		return nil
	}
	return e
}

// start makes calls, in order, while the first one is held, and lets it go.
func (e *echo) start(t *testing.T, calls ...int) (errs []error) {
	t.Helper()
	errs = make([]error, len(calls))
	var wg sync.WaitGroup
	for i, n := range calls {
		wg.Go(func() {
			out, err := e.run(t.Context(), "a", n)
			if errs[i] = err; err == nil && out != fmt.Sprint(n) {
				t.Errorf("call %d got %q", n, out)
			}
		})
		synctest.Wait()
	}
	close(e.hold)
	wg.Wait()
	synctest.Wait()
	e.combiner.mu.Lock()
	defer e.combiner.mu.Unlock()
	if len(e.lines) != 0 {
		t.Errorf("%d lines are left when nobody calls", len(e.lines))
	}
	return errs
}

func TestCombine(t *testing.T) {
	for name, c := range map[string]struct {
		calls    []int
		err      error
		split    bool
		together [][]int
		alone    []int
		failed   int
	}{
		"the first one alone, the others together": {[]int{1, 2, 3, 4}, nil, false, [][]int{{2, 3, 4}}, []int{1}, 0},
		"not too many":                           {[]int{1, 1000, 20, 30, 5}, nil, false, [][]int{{1000, 20}, {30, 5}}, []int{1}, 0},
		"a big one by itself":                    {[]int{1, 5000, 2, 3}, nil, false, [][]int{{2, 3}}, []int{1, 5000}, 0},
		"each by itself where one is at fault":   {[]int{1, 2, 3}, &pgconn.PgError{}, false, [][]int{{2, 3}}, []int{1, 2, 3}, 0},
		"each by itself where that is asked for": {[]int{1, 2, 3}, nil, true, [][]int{{2, 3}}, []int{1, 2, 3}, 0},
		"not again what may have happened":       {[]int{1, 2, 3}, errors.New("the connection broke"), false, [][]int{{2, 3}}, []int{1}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEcho()
				e.err, e.split = c.err, c.split
				failed := 0
				for _, err := range e.start(t, c.calls...) {
					if err != nil {
						failed++
					}
				}
				synctest.Wait()
				if !slices.EqualFunc(e.together, c.together, slices.Equal[[]int]) || !slices.Equal(e.alone, c.alone) || failed != c.failed {
					t.Errorf("together went %v, alone %v, %d failed; want %v, %v, %d", e.together, e.alone, failed, c.together, c.alone, c.failed)
				}
			})
		})
	}
}

// Who goes takes nobody along, and what it would have got is undone.
func TestCombineCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEcho()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for n := range 4 {
			wg.Go(func() {
				mine := t.Context()
				if n == 2 {
					mine = ctx
				}
				_, err := e.run(mine, "a", n)
				if cancelled := errors.Is(err, context.Canceled); cancelled != (n == 2) || err != nil && !cancelled {
					t.Errorf("call %d: %v", n, err)
				}
			})
			synctest.Wait()
		}
		cancel()
		synctest.Wait()
		close(e.hold)
		wg.Wait()
		synctest.Wait()
		if !slices.Equal(e.undone, []string{"2"}) {
			t.Errorf("undone was %v, want what nobody waited for", e.undone)
		}
		if _, err := e.run(ctx, "a", 9); !errors.Is(err, context.Canceled) {
			t.Errorf("a call that is over before it began: %v", err)
		}
	})
}
