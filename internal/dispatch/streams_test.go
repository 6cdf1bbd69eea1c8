package dispatch_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// Callers of one stream wait for the first for about a second and then begin all at
// once. When they have left, the stream counts as good, and those who come later need
// not wait, be it that others stay, or that nobody does.
func TestCallersOfOneStreamBeginTogether(t *testing.T) {
	const callers = 200
	bubble(t, func(t *testing.T) {
		r := newRig(t, 4, dispatch.Config{}, blame.Config{}, 20) // more streams than places
		var all sync.WaitGroup
		var told atomic.Int64 // how many were told that they wait for a stream
		wave := func(ctx context.Context, n int) (median, last time.Duration) {
			start := time.Now()
			for range n {
				all.Go(func() {
					w := dispatch.Work{Fingerprint: bezoar.Fingerprint{0: 7, 1: 1}, Shape: bezoar.Fingerprint{0: 7, 1: 2}, Replayable: true}
					j := &job{r: r, id: 7, what: streams}
					if a := r.d.Do(ctx, w, j); a.Kind != dispatch.Aborted {
						t.Errorf("a caller got %+v", a)
					}
					if j.told.Load() {
						told.Add(1)
					}
				})
			}
			var took []time.Duration
			for range n {
				select {
				case at := <-r.began:
					took = append(took, at.Sub(start))
				case <-time.After(20 * time.Second): // it has been refused
					took = append(took, 20*time.Second)
				}
			}
			slices.Sort(took)
			return took[n/2], took[n-1]
		}
		first, leaves := context.WithCancel(t.Context())
		wave(first, 1)
		time.Sleep(10 * time.Millisecond)
		others, leave := context.WithCancel(t.Context())
		if median, last := wave(others, callers); median > 1300*time.Millisecond || last > 1300*time.Millisecond {
			t.Errorf("%d callers of one stream began after %v at the median, and %v at last", callers, median, last)
		}
		leaves()
		synctest.Wait()
		late, leaveLate := context.WithCancel(t.Context())
		if _, last := wave(late, 10); last > 500*time.Millisecond {
			t.Errorf("who came after the first had left began after %v", last)
		}
		leave()
		leaveLate()
		all.Wait()
		time.Sleep(2 * time.Second)
		again, leaveAgain := context.WithCancel(t.Context())
		if _, last := wave(again, callers); last > 0 {
			t.Errorf("who came when all had left began after %v", last)
		}
		leaveAgain()
		all.Wait()
		if told.Load() != callers {
			t.Errorf("%d callers were told that they wait for a stream, want the %d of the second wave", told.Load(), callers)
		}
		if r.dead() != 0 {
			t.Errorf("%d workers died", r.dead())
		}
	})
}

// A stream that is to blame for a death is watched in the lane for as long as any answer
// is: one that kills with its second message has the worker to itself then, and not in the
// midst of other work.
func TestAStreamThatKillsLaterIsConvictedInTheLane(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 4, dispatch.Config{}, blame.Config{})
		r.do(1, fatal)
		ctx, leave := context.WithCancel(t.Context())
		var others sync.WaitGroup
		others.Go(func() {
			for id := byte(20); ctx.Err() == nil; id++ {
				others.Go(func() { r.do(id, slow) })
				select {
				case <-time.After(20 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		})
		time.Sleep(time.Second)
		r.do(1, fatal)
		leave()
		others.Wait()
		if a := r.do(1, fatal); a.Kind != dispatch.Refused || r.dead() != 2 {
			t.Errorf("%d workers died, and the next copy got %+v; want 2, and a refusal", r.dead(), a)
		}
	})
}
