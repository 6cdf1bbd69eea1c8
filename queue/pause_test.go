package queue_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// A queue that somebody pauses delivers nothing, in other processes and after a
// restart too, until it is resumed or the pause is over. What is in flight goes on.
func TestAQueueIsPausedByHand(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", nil)
		r.create("others", nil)
		r.sendMany("jobs", 3)
		held := r.one("jobs", "w1")
		r.must(r.Pause(r.Context(), "jobs", queue.Pause{By: "ann", Reason: "a migration"}))
		r.none("jobs", "w2")
		r.sendMany("others", 1)
		r.one("others", "w2")
		r.delete("jobs", held)
		c := r.wantStates(r.Engine, "jobs=paused!")
		if why, err := r.Held(r.Context(), "jobs"); err != nil || why != "ann has paused it: a migration" || c[0].Why != why {
			r.Errorf("it is held because %q, %v", why, err)
		}
		next := r.node(queue.Config{}, r.store) // another process, or the next one
		if m, err := next.Receive(r.Context(), "jobs", queue.ReceiveInput{}); err != nil || len(m) > 0 {
			r.Errorf("after a restart %d came, %v", len(m), err)
		}

		got := make(chan int)
		go func() {
			m, _ := r.Receive(r.Context(), "jobs", queue.ReceiveInput{Wait: new(20 * time.Second)})
			got <- len(m)
		}()
		pass(time.Second)
		r.must(r.Resume(r.Context(), "jobs"))
		if n := <-got; n != 1 {
			r.Errorf("whoever waited got %d, want 1", n)
		}
		r.must(r.Pause(r.Context(), "jobs", queue.Pause{Until: time.Now().Add(time.Minute)}))
		r.none("jobs", "w3")
		pass(time.Minute)
		r.one("jobs", "w3")
		r.wantStates(r.Engine)

		for _, p := range []queue.Pause{{Until: time.Now().Add(-time.Second)}, {By: strings.Repeat("x", 300)}} {
			if err := r.Pause(r.Context(), "jobs", p); queue.CodeOf(err) != queue.ErrInvalid {
				r.Errorf("%+v: %v", p, err)
			}
		}
		if err := r.Pause(r.Context(), "nowhere", queue.Pause{}); queue.CodeOf(err) != queue.ErrQueueNotFound {
			r.Errorf("nowhere: %v", err)
		}
		r.must(r.Pause(r.Context(), "jobs", queue.Pause{}))
		r.must(r.DeleteQueue(r.Context(), "jobs"))
		r.create("jobs", nil)
		r.sendMany("jobs", 1)
		r.one("jobs", "w4") // a new queue by that name is not paused
	})
}

// forgetful is a store that others use too, and that may fail to forget.
type forgetful struct {
	queue.Store
	fails bool
}

func (*forgetful) Shared() bool { return true }

func (f *forgetful) DeleteMark(ctx context.Context, key string, version int64) error {
	if f.fails {
		return errAway
	}
	return f.Store.DeleteMark(ctx, key, version)
}

// A queue is resumed wherever it was paused, and goes on to be paused where that
// cannot be written down.
func TestAPauseEndsEverywhereOrNowhere(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		store := &forgetful{Store: r.store}
		one, two := r.node(queue.Config{}, store), r.node(queue.Config{}, store)
		r.create("jobs", nil)
		r.sendMany("jobs", 1)
		pass(2 * time.Second)
		two.Conditions(r.Context()) // what it knows is not older than this
		r.must(one.Pause(r.Context(), "jobs", queue.Pause{}))
		r.must(two.Resume(r.Context(), "jobs"))
		pass(2 * time.Second)
		r.wantStates(one)

		r.must(one.Pause(r.Context(), "jobs", queue.Pause{}))
		store.fails = true
		if err := one.Resume(r.Context(), "jobs"); err == nil {
			r.Error("it was resumed without the store")
		}
		r.wantStates(one, "jobs=paused!")
		store.fails = false
		r.must(one.Resume(r.Context(), "jobs"))
		r.wantStates(r.node(queue.Config{}, store))
	})
}
