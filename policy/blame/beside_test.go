package blame_test

import (
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/policy/blame"
)

// A copy of work that takes long runs on its worker, once that is known to have lived with it for a while, lately.
// In twice as many half seconds twice as many may. A route that only reports sends copies anywhere.
func TestCopiesRunBesideSlowWork(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	e := b.life()
	poll := ask("/poll", "first")
	tk, _ := b.admit(poll)
	b.Begin(b.now, tk, e, b.now.Add(30*time.Second), false)
	copies := func() (n int) {
		for {
			c, d := b.Admit(b.now, ask("/poll", "other"))
			if d.Action == blame.Duplicate {
				return n
			}
			if d.Beside != e {
				t.Fatalf("a copy got %+v", d)
			}
			b.Begin(b.now, c, e, b.now.Add(30*time.Second), false)
			n++
		}
	}
	b.pass(10 * time.Second)
	if n := copies(); n != 0 {
		t.Errorf("%d copies run on a worker of which nothing is known", n)
	}
	b.Alive(b.now, e)
	b.pass(2 * time.Second)
	if n := copies(); n != 0 {
		t.Errorf("%d copies run on a worker that was well 2 s ago", n)
	}
	tk2, d := b.Admit(b.now, reporting(ask("/poll", "other")))
	if d.Action != blame.ToFleet || d.Beside != 0 || d.Would != blame.Duplicate {
		t.Errorf("on a route that only reports a copy got %+v", d)
	}
	b.Close(tk2)
	b.Silent(b.now, e, true)
	b.Alive(b.now, e)
	if _, d := b.Admit(b.now, ask("/poll", "other")); d.Beside != 0 {
		t.Errorf("on a silent worker a copy got %+v", d)
	}
	b.Silent(b.now, e, false)
	if n := copies(); n < 50 {
		t.Errorf("%d copies run on a worker that is well", n)
	}
	if _, d := b.Admit(b.now, reporting(ask("/poll", "other"))); d.Beside != 0 || d.Would != blame.Duplicate {
		t.Errorf("on a route that only reports a copy got %+v", d)
	}
}
