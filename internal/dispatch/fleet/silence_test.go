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

// frozen returns those of seen in whose place others are to be.
func frozen(seen []fleet.Silence) (out []*fleet.Worker) {
	for _, s := range seen {
		if s.Frozen {
			out = append(out, s.Worker)
		}
	}
	return out
}

// A worker that stays mute for three seconds is to be replaced, once, and a quarter of the fleet at a time. It leaves room
// for the next when it has spoken or is dead.
func TestWorkersThatStayMuteAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 4, fleet.Config{})
		a, b := f.TryAcquire(fleet.Want{}), f.TryAcquire(fleet.Want{})
		if got := frozen(listens(f, 2900*time.Millisecond)); len(got) > 0 {
			t.Fatalf("%s is to be replaced after 2.9 s", got[0].Name())
		}
		got := frozen(listens(f, 10*time.Second))
		if len(got) != 1 || got[0] != a && got[0] != b {
			t.Fatalf("%d are to be replaced", len(got))
		}
		if got[0] == b {
			a, b = b, a
		}
		f.Retire(a.Name(), a.Epoch())
		f.Up(a.Name(), "127.0.0.1:1")
		if got = frozen(listens(f, 10*time.Second)); len(got) > 0 {
			t.Errorf("while it finishes its work, %s is to be replaced, too", got[0].Name())
		}
		f.Down(a.Name(), a.Epoch(), fleet.End{At: time.Now()})
		if got = frozen(listens(f, time.Second)); len(got) != 1 || got[0] != b {
			t.Errorf("when it is dead, %d are to be replaced", len(got))
		}
		if err := f.Check(); err != nil {
			t.Error(err)
		}
	})
}

// A worker with open streams keeps its place, because they would end with it.
func TestAMuteWorkerWithStreamsIsNotReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 2, fleet.Config{})
		w := f.TryAcquire(fleet.Want{})
		f.Enter(w)
		f.Stream(w)
		if got := frozen(listens(f, 10*time.Second)); len(got) > 0 {
			t.Error("it is to be replaced")
		}
		f.EndStream(w)
		if got := frozen(listens(f, time.Second)); len(got) != 1 {
			t.Error("without a stream it is not to be replaced")
		}
	})
}

// Where workers have been silent for long and then answered, others may be silent for four times as long. A retired one
// teaches this, too.
func TestSlowWorkersAreNotReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 4, fleet.Config{})
		slow := f.TryAcquire(fleet.Want{})
		if got := frozen(listens(f, 5*time.Second)); len(got) != 1 {
			t.Fatalf("%d are to be replaced", len(got))
		}
		f.Retire(slow.Name(), slow.Epoch())
		f.Up(slow.Name(), "127.0.0.1:1")
		f.Observe(time.Now(), slow, balance.Outcome{Status: 200})
		f.Release(slow)
		listens(f, 200*time.Millisecond)
		f.Down(slow.Name(), slow.Epoch(), fleet.End{Planned: true, At: time.Now()})
		f.TryAcquire(fleet.Want{})
		if got := frozen(listens(f, 19*time.Second)); len(got) > 0 {
			t.Error("one that is as slow is to be replaced")
		}
		if got := frozen(listens(f, 3*time.Second)); len(got) != 1 {
			t.Error("one that is silent for four times as long is not to be replaced")
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

// A fleet is quiet while nothing is in flight but streams. Whatever begins ends that.
func TestAFleetIsQuietWithoutWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 2, fleet.Config{})
		quiet := func(when string, want bool) {
			t.Helper()
			listens(f, 100*time.Millisecond)
			if f.Quiet() != want {
				t.Errorf("%s: quiet is %v", when, !want)
			}
		}
		stirred := func(what string) {
			t.Helper()
			select {
			case <-f.Stirred():
			default:
				t.Errorf("%s does not end the quiet", what)
			}
			if f.Quiet() {
				t.Errorf("quiet after %s", what)
			}
		}
		quiet("at first", true)
		w := f.TryAcquire(fleet.Want{})
		stirred("work")
		quiet("with work", false)
		f.Stream(w)
		quiet("with a stream", true)
		f.EndStream(w)
		stirred("the end of a stream")
		f.Retire(w.Name(), w.Epoch())
		f.Up(w.Name(), "127.0.0.1:1")
		quiet("with work on a worker that has been replaced", false)
		f.Release(w)
		quiet("at the end", true)
		f.Enter(f.TryAcquire(fleet.Want{}))
		stirred("work in the lane")
	})
}
