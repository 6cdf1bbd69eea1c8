package dispatch_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

func TestGoodWorkIsAnsweredOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 4, dispatch.Config{}, blame.Config{})
		a := r.do(1, good)
		if a.Kind != dispatch.Answered || a.Attempts != 1 || r.sends[1] != 1 {
			t.Fatalf("answer %+v after %d deliveries, want one answered attempt", a, r.sends[1])
		}
	})
}

// Law 3: a pill costs at most N workers, whatever kind it is, also when many
// copies arrive at once.
func TestLaw3APillCostsTwoWorkers(t *testing.T) {
	for _, tc := range []struct {
		name   string
		what   behaviour
		copies int
		edit   func(*dispatch.Work)
	}{
		{"crash", pill, 1, nil},
		{"crash, 64 copies at once", pill, 64, nil},
		{"crash, unsafe, 64 copies at once", pill, 64, unsafeWork},
		{"hang", hang, 1, nil},
		{"hang, 64 copies at once", hang, 64, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, 8, dispatch.Config{}, blame.Config{})
				edit := tc.edit
				if edit == nil {
					edit = func(*dispatch.Work) {}
				}
				var wg sync.WaitGroup
				kinds := map[dispatch.Kind]int{}
				var mu sync.Mutex
				for range tc.copies {
					wg.Go(func() {
						a := r.do(9, tc.what, edit)
						mu.Lock()
						kinds[a.Kind]++
						mu.Unlock()
					})
				}
				wg.Wait()
				for range 20 {
					a := r.do(9, tc.what, edit)
					if tc.copies > 1 || tc.edit == nil {
						if a.Kind != dispatch.Refused || a.Verdict == nil || a.RetryAfter <= 0 {
							t.Fatalf("a later copy got %+v, want a refusal with its verdict", a)
						}
					}
				}
				if r.dead() != 2 || r.sends[9] != 2 {
					t.Fatalf("%d workers died in %d deliveries (answers %v), want 2 and 2", r.dead(), r.sends[9], kinds)
				}
			})
		})
	}
}

// Law 4: what is in flight beside a pill gets its answer.
func TestLaw4InnocentsAreAnswered(t *testing.T) {
	for _, tc := range []struct {
		workers int
		every   time.Duration // between two pills
		most    int           // deaths
	}{
		// Nothing is established yet, so that a lane worker on which other work was
		// answered a moment ago proves nothing: each pill costs three workers at most.
		{8, 500 * time.Millisecond, 15},
		// Three different pills within a second look like a sick fleet for a
		// while: some cost one worker more.
		{8, 150 * time.Millisecond, 20},
		{2, 150 * time.Millisecond, 20},
	} {
		t.Run(fmt.Sprint(tc.workers, " workers, a pill every ", tc.every), func(t *testing.T) { innocents(t, tc.workers, tc.every, tc.most) })
	}
}

func innocents(t *testing.T, workers int, every time.Duration, most int) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, workers, dispatch.Config{}, blame.Config{})
		var wg sync.WaitGroup
		for i := range 120 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 20 * time.Millisecond)
				// One slow and busy URL, in flight at every death, and unique work.
				for _, id := range []byte{100, byte(101 + i)} {
					if a := r.do(id, slow); a.Kind != dispatch.Answered {
						t.Errorf("innocent %d got %+v", id, a)
					}
				}
			})
		}
		for i := range 5 {
			wg.Go(func() {
				time.Sleep(time.Duration(i)*every + 50*time.Millisecond)
				r.do(byte(1+i), pill)
			})
		}
		wg.Wait()
		if r.dead() > most {
			t.Errorf("5 pills cost %d workers, want at most %d", r.dead(), most)
		}
	})
}

// Law 5: unsafe work is not run twice; its next copy is tried alone.
func TestLaw5UnsafeWorkIsNotReplayed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 4, dispatch.Config{}, blame.Config{})
		if a := r.do(1, pill, unsafeWork); a.Kind != dispatch.Failed || a.Attempts != 1 || r.sends[1] != 1 {
			t.Fatalf("the first copy got %+v after %d deliveries, want one failed attempt", a, r.sends[1])
		}
		if a := r.do(1, pill, unsafeWork); a.Kind != dispatch.Refused || r.sends[1] != 2 {
			t.Fatalf("the second copy got %+v after %d deliveries, want a conviction in the lane", a, r.sends[1])
		}
	})
}

// Law 6: when everything crashes at once, nobody is convicted.
func TestLaw6AFleetWideCrashConvictsNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 8, dispatch.Config{}, blame.Config{})
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				if a := r.do(byte(1+i), slow); a.Kind != dispatch.Answered {
					t.Errorf("innocent %d got %+v", 1+i, a)
				}
			})
		}
		wg.Go(func() {
			time.Sleep(50 * time.Millisecond)
			for _, st := range r.fleet.Snapshot() {
				r.mu.Lock()
				l := r.lives[st.Name]
				r.mu.Unlock()
				r.kill(st.Name, l, fleet.End{Class: bezoar.Crash, ExitCode: -1, Signal: "SIGKILL"})
			}
		})
		wg.Wait()
		for _, v := range r.ledger.Verdicts() {
			if v.State == bezoar.Quarantined {
				t.Errorf("convicted %+v", v)
			}
		}
	})
}

func TestPlannedEndsBlameNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 3, dispatch.Config{}, blame.Config{})
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				if a := r.do(byte(1+i), slow); a.Kind != dispatch.Answered {
					t.Errorf("work %d got %+v", 1+i, a)
				}
			})
		}
		wg.Go(func() {
			for _, st := range r.fleet.Snapshot() {
				time.Sleep(30 * time.Millisecond)
				r.mu.Lock()
				l := r.lives[st.Name]
				r.mu.Unlock()
				r.kill(st.Name, l, fleet.End{Planned: true, Class: bezoar.Interrupted, Signal: "SIGTERM"})
			}
		})
		wg.Wait()
		if vs := r.ledger.Verdicts(); len(vs) != 0 {
			t.Errorf("a deploy left %+v", vs)
		}
	})
}

func TestAConnectionFaultIsNoCrash(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 4, dispatch.Config{}, blame.Config{})
		a := r.do(1, snap)
		if a.Kind != dispatch.Refused && a.Kind != dispatch.Failed || r.dead() != 0 || a.Attempts != r.sends[1] || a.Attempts > 3 {
			t.Fatalf("got %+v after %d deliveries and %d deaths", a, r.sends[1], r.dead())
		}
		if b := r.do(2, snap, unsafeWork); b.Kind != dispatch.Failed || r.sends[2] != 1 {
			t.Fatalf("unsafe work got %+v after %d deliveries", b, r.sends[2])
		}
	})
}

func TestOverdueWorkOnALivingWorkerIsStruck(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 4, dispatch.Config{}, blame.Config{})
		for range 20 {
			r.do(200, good)
		}
		for i := range 2 {
			if a := r.do(1, dawdle); a.Kind != dispatch.TimedOut {
				t.Fatalf("copy %d got %+v, want a timeout", i, a)
			}
		}
		r.do(1, dawdle)
		if a := r.do(1, dawdle); a.Kind != dispatch.Refused || a.Verdict.Cause != bezoar.Timeout || r.dead() != 0 {
			t.Fatalf("after three strikes a copy got %+v, %d deaths", a, r.dead())
		}
	})
}

func TestACallerWhoHangsUpBlamesNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 2, dispatch.Config{}, blame.Config{})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		w := dispatch.Work{Fingerprint: bezoar.Fingerprint{1}, Replayable: true}
		if a := r.d.Do(ctx, w, &job{r: r, id: 1, what: slow}); a.Kind != dispatch.Aborted {
			t.Fatalf("got %+v", a)
		}
		if vs := r.ledger.Verdicts(); len(vs) != 0 {
			t.Errorf("left %+v", vs)
		}
		if st := r.fleet.Snapshot(); st[0].InFlight+st[1].InFlight != 0 {
			t.Errorf("in flight %+v", st)
		}
	})
}

func TestAQuarantineEndsByAProbe(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 4, dispatch.Config{}, blame.Config{})
		r.do(1, pill)
		if a := r.do(1, pill); a.Kind != dispatch.Refused {
			t.Fatalf("got %+v", a)
		}
		time.Sleep(73 * time.Second)
		if a := r.do(1, pill); a.Kind != dispatch.Refused || r.dead() != 3 {
			t.Fatalf("the probe got %+v, %d deaths", a, r.dead())
		}
		time.Sleep(70 * time.Second) // the term has doubled
		if a := r.do(1, pill); a.Kind != dispatch.Refused || r.dead() != 3 {
			t.Fatalf("within the doubled term: %+v, %d deaths", a, r.dead())
		}
		time.Sleep(80 * time.Second)
		if a := r.do(1, good); a.Kind != dispatch.Answered {
			t.Fatalf("the mended work got %+v", a)
		}
		time.Sleep(3 * time.Second) // its worker has outlived the window
		if vs := r.ledger.Verdicts(); len(vs) != 0 {
			t.Errorf("left %+v", vs)
		}
	})
}

func TestASingleWorkerFleet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1, dispatch.Config{}, blame.Config{})
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				if a := r.do(byte(10+i), slow); a.Kind != dispatch.Answered {
					t.Errorf("innocent %d got %+v", 10+i, a)
				}
			})
		}
		wg.Go(func() { time.Sleep(20 * time.Millisecond); r.do(1, pill) })
		wg.Wait()
		if a := r.do(1, pill); a.Kind != dispatch.Refused || r.dead() > 2 {
			t.Errorf("got %+v, %d deaths", a, r.dead())
		}
	})
}

func TestUniquePillsEscalateToTheirShape(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 8, dispatch.Config{}, blame.Config{})
		for i := range 200 {
			r.do(byte(i%50), good)
		}
		shape := bezoar.Fingerprint{15: 7}
		died := []int{}
		var wg sync.WaitGroup
		defer wg.Wait()
		for i := range 40 { // whether those before have been answered or not
			w := dispatch.Work{Fingerprint: bezoar.Fingerprint{2: byte(i), 3: 1}, Shape: shape, Replayable: true}
			wg.Go(func() { r.d.Do(t.Context(), w, &job{r: r, id: 250, what: pill}) })
			died = append(died, r.dead())
			time.Sleep(500 * time.Millisecond)
			if a := r.do(byte(i%50), good); a.Kind != dispatch.Answered {
				t.Errorf("innocent got %+v", a)
			}
		}
		died = append(died, r.dead())
		if last := died[len(died)-1]; last > 14 {
			t.Errorf("deaths grew like %v, want at most 14", died)
		}
	})
}

// Law 3: a suspect that hangs is not let go because its caller hangs up.
func TestLaw3AHangingSuspectIsHeldAfterItsCallerLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 4, dispatch.Config{}, blame.Config{})
		w := dispatch.Work{Fingerprint: bezoar.Fingerprint{1}, Replayable: true, Timeout: 2 * time.Second}
		for range 3 {
			// Long enough for the fleet's deadline, too short for the lane's.
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			r.d.Do(ctx, w, &job{r: r, id: 1, what: hang})
			cancel()
			time.Sleep(5 * time.Second)
		}
		if a := r.d.Do(t.Context(), w, &job{r: r, id: 1, what: hang}); a.Kind != dispatch.Refused || r.dead() != 2 || r.sends[1] != 2 {
			t.Errorf("got %+v after %d deliveries and %d deaths, want a refusal after 2 and 2", a, r.sends[1], r.dead())
		}
	})
}

// What is decided about work while it waits for a worker or for the lane
// counts, not what was thought of it when it came.
func TestWhatIsConvictedWhileItWaitsIsNotSent(t *testing.T) {
	for _, tc := range []struct {
		name  string
		order blame.Work
		sent  int
		lane  bool
	}{
		{"the work, for the fleet", blame.Work{Fingerprint: bezoar.Fingerprint{0: 9, 1: 1}}, 0, false},
		{"its shape, for the fleet", blame.Work{Shape: bezoar.Fingerprint{0: 9, 1: 2}}, 0, false},
		{"the work, for the lane", blame.Work{Fingerprint: bezoar.Fingerprint{0: 9, 1: 1}}, 1, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, 2, dispatch.Config{}, blame.Config{})
				r.restart = time.Second
				end := fleet.End{Class: bezoar.Crash, Detail: "exit code 1", ExitCode: 1}
				down := func() {
					for _, name := range []string{"w0", "w1"} {
						r.mu.Lock()
						l := r.lives[name]
						r.mu.Unlock()
						r.kill(name, l, end)
					}
				}
				answer := make(chan dispatch.Answer, 1)
				if !tc.lane {
					down()
				}
				go func() { answer <- r.do(9, slow) }()
				synctest.Wait()
				if tc.lane {
					down() // it was in flight at one of the deaths
					synctest.Wait()
				}
				if _, err := r.ledger.Quarantine(t.Context(), ledger.Order{Work: tc.order, For: time.Minute}); err != nil {
					t.Fatal(err)
				}
				if a := <-answer; a.Kind != dispatch.Refused || r.sends[9] != tc.sent {
					t.Errorf("answer %v after %d deliveries, want a refusal after %d", a.Kind, r.sends[9], tc.sent)
				}
			})
		})
	}
}

// Law 8: attempts, waiting and extra load are bounded when no worker can be
// reached, and when every attempt fails.
func TestLaw8RetriesAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 3, dispatch.Config{Wait: 5 * time.Second}, blame.Config{Rule: blame.Rule{After: 8}})
		if a := r.do(1, pill); a.Kind != dispatch.Failed || a.Attempts != 3 || r.sends[1] != 3 {
			t.Errorf("what always fails got %+v after %d deliveries, want 3", a, r.sends[1])
		}
		r.downAll(true)
		began := time.Now()
		a := r.do(2, good, func(w *dispatch.Work) { w.Timeout = time.Second })
		if d := time.Since(began); a.Kind != dispatch.Unavailable || a.RetryAfter <= 0 || d > 6*time.Second {
			t.Errorf("without workers it got %+v after %v, want to hear so within 5 s", a, d)
		}
	})
}
