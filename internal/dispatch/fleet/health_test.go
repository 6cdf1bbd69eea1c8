package fleet_test

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/policy/balance"
)

// judgements collects what a fleet judges.
type judgements struct {
	mu   sync.Mutex // guards what follows
	list []fleet.Judgement
}

func (j *judgements) add(g fleet.Judgement) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.list = append(j.list, g)
}

// String returns them in short: "ejected w0, panic".
func (j *judgements) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []string
	for _, g := range j.list {
		out = append(out, strings.TrimSpace(string(g.Opinion)+" "+g.Worker))
	}
	return strings.Join(out, ", ")
}

// observe tells how n attempts on a worker went.
func observe(f *fleet.Fleet, worker string, n, status int) {
	w := f.Worker(worker, epoch(f, worker))
	for range n {
		f.Observe(time.Now(), w, balance.Outcome{Status: status, Latency: time.Millisecond})
	}
}

// serveWell makes all workers answer well.
func serveWell(f *fleet.Fleet) {
	for _, st := range f.Snapshot() {
		observe(f, st.Name, 100, 200)
	}
}

func TestOutlierIsEjectedAndReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen judgements
		changes := 0
		f := open(t, 4, fleet.Config{Judged: seen.add, Changed: func() { changes++ }})
		changes = 0
		for i, want := range []time.Duration{30 * time.Second, time.Minute} {
			serveWell(f)
			observe(f, "w1", 20, 503)
			st := f.Snapshot()[1]
			if !st.HeldOut || st.Ejected == nil || st.Ejections != i+1 || time.Until(*st.Ejected) > want || time.Until(*st.Ejected) < want*4/5 {
				t.Fatalf("after its %d. bad time its status is %+v", i+1, st)
			}
			if got := try(f, fleet.Want{}, 40); got["w1"] != 0 || len(got) != 3 {
				t.Errorf("while it is ejected work went to %v", got)
			}
			if f.Serving() != 3 || f.Panic() {
				t.Errorf("%d serve, panic %v", f.Serving(), f.Panic())
			}
			time.Sleep(want)
			synctest.Wait()
			if got := try(f, fleet.Want{}, 4); got["w1"] == 0 {
				t.Errorf("after its time work went to %v", got)
			}
		}
		if got, want := seen.String(), "ejected w1, returned w1, ejected w1, returned w1"; got != want {
			t.Errorf("judged %s, want %s", got, want)
		}
		if first := seen.list[0]; !strings.Contains(first.Detail, "in a row") || first.Until.IsZero() || first.Epoch == 0 {
			t.Errorf("judged %+v", first)
		}
		if st := f.Stats(); st.Ejections != 2 || changes != 4 {
			t.Errorf("%d ejections, %d changes", st.Ejections, changes)
		}
		if err := f.Check(); err != nil {
			t.Error(err)
		}
	})
}

func TestEjectionIsBounded(t *testing.T) {
	for _, c := range []struct {
		n, want int
		below   float64
	}{{2, 0, 0.1}, {3, 1, 0.5}, {9, 1, 0.5}, {20, 2, 0.5}, {3, 0, 0.9}} {
		synctest.Test(t, func(t *testing.T) {
			f := open(t, c.n, fleet.Config{PanicBelow: c.below})
			serveWell(f)
			for i := range 3 {
				if i < c.n {
					observe(f, fmt.Sprintf("w%d", i), 50, 500)
					time.Sleep(time.Second)
				}
			}
			if st := f.Stats(); st.Up-st.Well != c.want || st.Panic {
				t.Errorf("of %d workers, panic below %v, %d are out, want %d: %+v", c.n, c.below, st.Up-st.Well, c.want, st)
			}
			for _, st := range f.Snapshot() { // ends the timers
				f.Down(st.Name, st.Epoch, fleet.End{})
			}
			if st := f.Stats(); st.Up != 0 || st.Well != 0 {
				t.Errorf("with all down: %+v", st)
			}
		})
	}
}

// Failures everywhere, or of requests that failed before, are no reason.
func TestPoisonEjectsNobody(t *testing.T) {
	f := open(t, 4, fleet.Config{})
	serveWell(f)
	for range 100 {
		for i := range 4 {
			observe(f, fmt.Sprintf("w%d", i), 1, 500)
		}
	}
	w := f.TryAcquire(fleet.Want{})
	for range 100 {
		f.Observe(time.Now(), w, balance.Outcome{Failed: true, Repeat: true})
	}
	if st := f.Stats(); st.Ejections != 0 {
		t.Errorf("%d were ejected", st.Ejections)
	}
}

func TestEjectionEndsWithTheLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen judgements
		f := open(t, 4, fleet.Config{Judged: seen.add})
		serveWell(f)
		observe(f, "w1", 20, 500)
		down(f, "w1")
		f.Up("w1", "127.0.0.1:1")
		if got := try(f, fleet.Want{}, 4); len(got) != 4 {
			t.Errorf("work went to %v, want the new life as well", got)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := seen.String(); got != "ejected w1" {
			t.Errorf("judged %s", got)
		}
	})
}

func TestPanicGivesAllWorkers(t *testing.T) {
	var seen judgements
	f := open(t, 4, fleet.Config{Judged: seen.add})
	sick := func(name string) bool { return f.Sick(name, epoch(f, name), "answered 503") }
	if !sick("w0") || !sick("w1") || f.Panic() {
		t.Fatal("half of the fleet is not held out")
	}
	if got := try(f, fleet.Want{}, 20); got["w0"]+got["w1"] != 0 {
		t.Errorf("work went to %v", got)
	}
	if sick("w2") || !f.Panic() {
		t.Fatal("it does not panic with one of four well")
	}
	if got := try(f, fleet.Want{}, 40); len(got) != 4 {
		t.Errorf("in panic work went to %v", got)
	}
	st := f.Snapshot()[0]
	if st.HeldOut || st.Sick != "answered 503" || f.Serving() != 4 || f.Stats().PanicSince.IsZero() {
		t.Errorf("in panic: %+v, %+v", st, f.Stats())
	}
	if sick("w0") || f.Sick("w0", 999, "of another life") {
		t.Error("what is told again in panic is held out")
	}
	f.Well("w2", epoch(f, "w2"))
	f.Well("w2", epoch(f, "w2"))
	if f.Panic() || !sick("w0") {
		t.Error("it did not calm down")
	}
	if got, want := seen.String(), "unhealthy w0, unhealthy w1, unhealthy w2, panic, healthy w2, calm"; got != want {
		t.Errorf("judged %s, want %s", got, want)
	}
	// A worker that is down is no opinion.
	down(f, "w2")
	if f.Panic() != true {
		t.Error("one of three is well: it should panic")
	}
	down(f, "w0", "w1")
	if f.Panic() {
		t.Error("all that are up are well: it should not panic")
	}
	if st := f.Stats(); st.Panics != 2 || st.Up != 1 || st.Well != 1 {
		t.Errorf("%+v", st)
	}
}

// What runs in the lane is suspected; it needs a worker that is well.
func TestTheLaneIsAWorkerThatIsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 3, fleet.Config{})
		f.Sick("w0", epoch(f, "w0"), "")
		w, err := f.Reserve(t.Context(), fleet.LaneWant{})
		if err != nil || w.Name() == "w0" {
			t.Fatalf("reserved %v, %v", w, err)
		}
		f.Sick(w.Name(), w.Epoch(), "")
		f.Well("w0", epoch(f, "w0"))
		f.Unreserve(w)
		if got := try(f, fleet.Want{}, 20); got[w.Name()] != 0 {
			t.Errorf("the lane fell sick, and got %d of the work afterwards", got[w.Name()])
		}
		if err := f.Check(); err != nil {
			t.Error(err)
		}
	})
}

// A fresh worker's share grows, in small fleets, large ones, and shards.
func TestSlowStart(t *testing.T) {
	for _, c := range []struct {
		n    int
		want fleet.Want
	}{{4, fleet.Want{}}, {40, fleet.Want{}}, {8, fleet.Want{Caller: 7, Shard: 2}}} {
		synctest.Test(t, func(t *testing.T) {
			const over = 10 * time.Second
			f := open(t, c.n, fleet.Config{SlowStart: over})
			fresh, of := "w0", c.n
			if members := f.Shard(c.want); members != nil {
				fresh, of = members[0], len(members)
			}
			time.Sleep(over)
			down(f, fresh)
			f.Up(fresh, "127.0.0.1:1")
			for _, part := range []float64{0.1, 0.5, 1} {
				time.Sleep(time.Duration(part*float64(over)) - time.Since(f.Worker(fresh, epoch(f, fresh)).Since()))
				const picks = 20_000
				hits := 0
				for range picks {
					w := f.TryAcquire(c.want)
					if w.Name() == fresh {
						hits++
					}
					f.Release(w)
				}
				got, want := float64(hits)/picks, part/float64(of)
				if math.Abs(got-want) > 0.2*want+0.003 {
					t.Errorf("%d workers, %+v: after %v of its slow start it got %.3f of the work, want %.3f", c.n, c.want, part, got, want)
				}
			}
			if st := f.Snapshot()[0]; st.Share != 1 {
				t.Errorf("share %v", st.Share)
			}
		})
	}
}

func TestTune(t *testing.T) {
	var seen judgements
	f := open(t, 4, fleet.Config{Judged: seen.add})
	f.Sick("w0", epoch(f, "w0"), "")
	if err := f.Tune(fleet.Config{PanicBelow: 2, Eject: balance.Eject{Excuse: 99}}); err == nil || f.Panic() {
		t.Errorf("it was tuned to the impossible: %v", err)
	}
	if err := f.Tune(fleet.Config{PanicBelow: 0.9, Eject: balance.Eject{Consecutive: balance.Off, Above: balance.Off}}); err != nil || !f.Panic() {
		t.Errorf("three of four are well: panic %v, %v", f.Panic(), err)
	}
	if err := f.Tune(fleet.Config{Eject: balance.Eject{Consecutive: balance.Off, Above: balance.Off}}); err != nil || f.Panic() {
		t.Errorf("with the default: panic %v, %v", f.Panic(), err)
	}
	serveWell(f)
	observe(f, "w1", 100, 500)
	if got := seen.String(); got != "unhealthy w0, panic, calm" {
		t.Errorf("judged %s", got)
	}
}

// Everything at once, for the race detector.
func TestConcurrentOpinions(t *testing.T) {
	f := open(t, 8, fleet.Config{MaxInFlight: 2, SlowStart: time.Millisecond, Judged: func(fleet.Judgement) {}})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			want := fleet.Want{Caller: uint64(i), Shard: 2, Overflow: fleet.Overflow(i % 3)}
			for k := range 300 {
				w, err := f.Acquire(t.Context(), want)
				if err != nil {
					t.Error(err)
					return
				}
				f.Observe(time.Now(), w, balance.Outcome{Failed: (k+i)%3 == 0, Caller: want.Caller})
				f.Release(w)
			}
		})
	}
	wg.Go(func() {
		for k := range 300 {
			name := fmt.Sprintf("w%d", k%8)
			f.Sick(name, epoch(f, name), "")
			if k%3 > 0 {
				f.Well(name, epoch(f, name))
			}
			f.Stats()
		}
		for i := range 8 {
			name := fmt.Sprintf("w%d", i)
			f.Well(name, epoch(f, name))
		}
	})
	wg.Wait()
	if err := f.Check(); err != nil {
		t.Error(err)
	}
}
