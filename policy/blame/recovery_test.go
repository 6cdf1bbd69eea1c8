package blame_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// striker is a fleet of four of which workers die with one unknown piece of work each.
type striker struct {
	t     *testing.T
	b     *blame.State
	now   time.Time
	ids   uint64
	works uint64
}

func newStriker(t *testing.T) *striker {
	s := &striker{t: t, now: time.Unix(1000, 0)}
	s.b = blame.New(blame.Config{}, s.now)
	s.b.SetFleet(4)
	for range 4 {
		s.open()
	}
	return s
}

func (s *striker) open() uint64 {
	s.ids++
	s.b.OpenEpoch(s.ids)
	return s.ids
}

// unknown is work that nobody has seen before.
func (s *striker) unknown() blame.Work {
	s.works++
	return blame.Work{Fingerprint: bezoar.Fingerprint{0: 7, 1: byte(s.works), 2: byte(s.works >> 8)}}
}

// run runs w on a worker, if it may run in the fleet.
func (s *striker) run(w blame.Work, epoch uint64) (blame.Ticket, blame.Decision) {
	s.t.Helper()
	tk, d := s.b.Admit(s.now, w)
	if d.Action == blame.ToFleet && !s.b.Begin(s.now, tk, epoch, time.Time{}, false) {
		s.t.Fatalf("worker %d does not live", epoch)
	}
	return tk, d
}

// kill ends a worker with an unknown piece of work.
func (s *striker) kill(epoch uint64) {
	s.t.Helper()
	tk, d := s.run(s.unknown(), epoch)
	if d.Action != blame.ToFleet {
		s.t.Fatalf("the pill was not sent: %+v", d)
	}
	s.b.Crash(s.now, epoch, false, bezoar.Evidence{Worker: fmt.Sprint(epoch)})
	s.b.Close(tk)
}

// answer lets n unknown pieces of work succeed, one after the other.
func (s *striker) answer(n int, epoch uint64) {
	s.t.Helper()
	for range n {
		tk, d := s.run(s.unknown(), epoch)
		if d.Action != blame.ToFleet {
			s.t.Fatalf("the work was not sent: %+v", d)
		}
		s.b.End(s.now, tk, blame.Survived)
		s.b.Close(tk)
	}
}

func (s *striker) runs(want int) {
	s.t.Helper()
	r, ok := s.b.Recovery(s.now)
	if ok != (want > 0) || ok && r.Runs != want {
		s.t.Fatalf("recovery %+v, %v; want %d runs", r, ok, want)
	}
}

// held reports whether unknown work has to wait, and lets it run if not.
func (s *striker) held(epoch uint64) bool {
	s.t.Helper()
	_, d := s.run(s.unknown(), epoch)
	return d.Action == blame.HoldBack
}

// One death of four, or two that are far apart, change nothing. Two together do: the
// next unproven piece of work goes after a gap, and another only when it has succeeded.
func TestUnprovenWorkGoesBackByFew(t *testing.T) {
	s := newStriker(t)
	s.kill(1)
	s.now = s.now.Add(3 * time.Second)
	s.open()
	s.kill(2)
	s.runs(0)
	if s.held(3) {
		t.Fatal("unproven work waits after one death of four")
	}
	s.now = s.now.Add(time.Second)
	s.kill(3)
	s.runs(1)
	if !s.held(4) {
		t.Fatal("unproven work goes on at once after two deaths of four")
	}
	s.now = s.now.Add(100 * time.Millisecond)
	tk, d := s.run(s.unknown(), 4)
	if d.Action != blame.ToFleet || !s.held(4) {
		t.Fatalf("want one unproven piece of work in flight, not none and not two: %+v", d)
	}
	s.b.End(s.now, tk, blame.Survived)
	s.b.Close(tk)
	s.runs(2)
	for i, want := range []bool{false, false, true} {
		if s.held(4) != want {
			t.Fatalf("work %d after a success: held back %v, want two in flight", i, !want)
		}
	}
	s.now = s.now.Add(time.Second / 2)
	if s.held(4) {
		t.Fatal("what has run for half a second does not make room")
	}
}

// Work that is known to run well does not wait, nor does what has waited for as long as
// may be, nor what a route only reports.
func TestProvenWorkGoesOnDuringARecovery(t *testing.T) {
	s := newStriker(t)
	known := s.unknown()
	for range 3 {
		tk, _ := s.run(known, 4)
		s.b.End(s.now, tk, blame.Survived)
		s.b.Close(tk)
		s.now = s.now.Add(2 * time.Second)
	}
	s.b.Tick(s.now)
	s.kill(1)
	s.kill(2)
	waited, reported := s.unknown(), s.unknown()
	waited.Waited = true
	rule := blame.Rule{ReportOnly: true}.WithDefaults()
	reported.Rule = &rule
	for name, w := range map[string]blame.Work{"known": known, "waited": waited, "reported": reported} {
		if _, d := s.run(w, 4); d.Action != blame.ToFleet {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if !s.held(4) {
		t.Error("unproven work does not wait")
	}
}

// Each further death begins it anew, after a longer gap of at most a second.
func TestADeathBeginsTheRecoveryAnew(t *testing.T) {
	s := newStriker(t)
	s.kill(1)
	s.kill(2)
	for _, gap := range []time.Duration{100, 200, 400, 800, 1000, 1000} {
		gap *= time.Millisecond
		if s.now = s.now.Add(gap - 1); !s.held(s.ids) {
			t.Fatalf("nothing waits %v after a death", gap-1)
		}
		s.now = s.now.Add(1)
		s.answer(3, s.ids)
		s.runs(4)
		s.open()
		s.kill(s.ids)
		s.open()
		s.runs(1)
	}
}

// It is over five seconds after the last death, when half of the workers are up, or when
// so much has succeeded that it limits nothing any more. Both are said.
func TestARecoveryEnds(t *testing.T) {
	s := newStriker(t)
	s.kill(1)
	s.kill(2)
	s.b.Crash(s.now, 3, true, bezoar.Evidence{})
	s.now = s.now.Add(time.Minute)
	s.runs(1) // one of four is up
	s.open()
	s.now = s.now.Add(4 * time.Second)
	s.runs(1)
	s.now = s.now.Add(2 * time.Second)
	s.runs(0)

	s.kill(4)
	s.open()
	s.open()
	s.kill(s.ids)
	s.open()
	s.now = s.now.Add(100 * time.Millisecond)
	s.answer(31, s.ids)
	s.runs(0)

	var said []string
	for _, e := range s.b.Drain(nil) {
		if e.Kind == blame.RecoveryBegan || e.Kind == blame.RecoveryEnded {
			said = append(said, e.Kind.String())
		}
	}
	if got := strings.Join(said, " "); got != "recovery-began recovery-ended recovery-began recovery-ended" {
		t.Errorf("said %v", said)
	}
}

// What waited for a worker when most of them died asks again: it would come upon the
// first one that is back all at once.
func TestWhatWaitsForAWorkerIsOvertakenByARecovery(t *testing.T) {
	s := newStriker(t)
	before, _ := s.b.Admit(s.now, s.unknown())
	s.kill(1)
	s.b.Overtaken(s.now, before) // a suspect is new since it was admitted: it is looked at again once
	if s.b.Overtaken(s.now, before) {
		t.Error("one death overtakes it")
	}
	s.kill(2)
	s.b.Overtaken(s.now, before)
	if !s.b.Overtaken(s.now, before) {
		t.Error("it may go on")
	}
	s.now = s.now.Add(100 * time.Millisecond)
	with, d := s.b.Admit(s.now, s.unknown())
	if d.Action != blame.ToFleet || s.b.Overtaken(s.now, with) {
		t.Errorf("what has its turn does not keep it: %+v", d)
	}
}
