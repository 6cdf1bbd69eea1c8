package fleet_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/policy/balance"
)

// listens lets d pass as the dispatcher does, and returns what was noticed.
func listens(f *fleet.Fleet, d time.Duration) (out []fleet.Silence) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
		out = append(out, f.Listen(time.Now())...)
	}
	return out
}

// A worker that answers nothing for longer than usual gets nothing new until it answers.
func TestASilentWorkerGetsNothingNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 2, fleet.Config{})
		stuck := f.TryAcquire(fleet.Want{})
		seen := listens(f, 400*time.Millisecond)
		if len(seen) != 1 || seen[0].Worker != stuck || !seen[0].Look {
			t.Fatalf("%+v was noticed, want that one is to be looked at", seen)
		}
		for range 5 {
			if w := f.TryAcquire(fleet.Want{}); w == stuck {
				t.Fatal("the silent one got more, though another is up")
			}
		}
		if seen = listens(f, 200*time.Millisecond); len(seen) != 1 || !seen[0].Mute {
			t.Errorf("without an answer to the look %+v was noticed", seen)
		}
		f.Observe(time.Now(), stuck, balance.Outcome{Status: 200})
		f.Release(stuck)
		if seen = listens(f, 100*time.Millisecond); len(seen) == 0 || seen[0].Worker != stuck || seen[0].Look || seen[0].Mute {
			t.Errorf("when it had answered %+v was noticed", seen)
		}
		if w := f.TryAcquire(fleet.Want{}); w != stuck {
			t.Error("when it had answered, the least loaded got nothing")
		}
		if err := f.Check(); err != nil {
			t.Error(err)
		}
	})
}

// When all are silent it is better to send than to wait; and when one of them dies, its next
// life gets everything.
func TestIfAllAreSilentAllGetWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 2, fleet.Config{})
		a, b := f.TryAcquire(fleet.Want{}), f.TryAcquire(fleet.Want{})
		if a == b {
			t.Fatal("one got both")
		}
		listens(f, 400*time.Millisecond)
		w := f.TryAcquire(fleet.Want{})
		if w == nil {
			t.Fatal("none got work")
		}
		f.Down(a.Name(), a.Epoch(), fleet.End{At: time.Now()})
		f.Up(a.Name(), "127.0.0.1:1")
		for range 5 {
			if w := f.TryAcquire(fleet.Want{}); w == b {
				t.Fatal("the silent one got work, though a fresh life is up")
			}
		}
		if err := f.Check(); err != nil {
			t.Error(err)
		}
	})
}

// A look that finds a worker well gives it back at once, and fewer looks follow.
func TestLooksAtWorkersThatAreWellGetSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 2, fleet.Config{})
		slow := f.TryAcquire(fleet.Want{})
		looks := 0
		for range 600 { // a minute
			for _, s := range listens(f, 100*time.Millisecond) {
				if s.Mute {
					t.Fatal("a worker whose looks are answered at once counts as mute")
				}
				if s.Look {
					looks++
					f.Looked(slow, fleet.Alive)
				}
			}
			if st := f.Snapshot(); st[0].Silent || st[1].Silent {
				t.Fatalf("it is held out after it was found well: %+v", st)
			}
		}
		if looks < 1 || looks > 61 {
			t.Errorf("%d looks in a minute at one slow request", looks)
		}
		f.Observe(time.Now(), slow, balance.Outcome{Status: 200})
		f.Release(slow)
		looks = 0
		for range 60 { // requests of 600 ms: shorter than the patience by now
			w := f.TryAcquire(fleet.Want{})
			for _, s := range listens(f, 600*time.Millisecond) {
				if s.Look {
					looks++
					f.Looked(w, fleet.Alive)
				}
			}
			f.Observe(time.Now(), w, balance.Outcome{Status: 200})
			f.Release(w)
		}
		if looks > 10 {
			t.Errorf("%d looks at 60 requests of 600 ms", looks)
		}
	})
}
