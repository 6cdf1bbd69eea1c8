package blame_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func fp(n uint64) bezoar.Fingerprint {
	var f bezoar.Fingerprint
	binary.LittleEndian.PutUint64(f[:], n*0x9e3779b97f4a7c15)
	binary.LittleEndian.PutUint64(f[8:], n+1)
	return f
}

// work returns work number n of shape s.
func work(n, s uint64) blame.Work {
	return blame.Work{Fingerprint: fp(n), Shape: fp(1<<40 + s)}
}

// clock is a state with a time of its own.
type clock struct {
	*blame.State
	t   testing.TB
	now time.Time
	ids uint64
}

func newState(t testing.TB, cfg blame.Config) *clock {
	t.Helper()
	if cfg.Rand == nil {
		cfg.Rand = rand.New(rand.NewPCG(7, 7))
	}
	if cfg.Window == 0 {
		cfg.Window = -1 // answers count at once, unless a test is about the window
	}
	b := &clock{State: blame.New(cfg, start), t: t, now: start}
	b.SetFleet(8)
	return b
}

func (b *clock) pass(d time.Duration) {
	b.now = b.now.Add(d)
	b.Tick(b.now)
}

// life opens a new epoch.
func (b *clock) life() uint64 {
	b.ids++
	b.OpenEpoch(b.ids)
	return b.ids
}

// admit opens a ticket for w, which must not be refused or have to wait.
func (b *clock) admit(w blame.Work) (blame.Ticket, blame.Decision) {
	b.t.Helper()
	t, d := b.Admit(b.now, w)
	for range 100 {
		if d.Action != blame.Pace && d.Action != blame.HoldBack {
			break
		}
		b.pass(d.Until.Sub(b.now)) // it waits for its turn
		t, d = b.Admit(b.now, w)
	}
	if d.Action == blame.Duplicate || d.Action == blame.Refuse || d.Action == blame.Pace || d.Action == blame.HoldBack {
		b.t.Fatalf("work was not let through: %+v", d)
	}
	return t, d
}

// runs lets w run clean wherever it is sent.
func (b *clock) runs(w blame.Work) blame.Decision {
	b.t.Helper()
	t, d := b.admit(w)
	b.Begin(b.now, t, b.life(), time.Time{}, d.Action == blame.ToLane)
	b.End(b.now, t, blame.Survived)
	b.Close(t)
	return d
}

// servedLife opens a new epoch of a worker that has answered something.
func (b *clock) servedLife() uint64 {
	e := b.life()
	t := b.Open(blame.Work{Fingerprint: fp(1 << 50), Exempt: true})
	b.Begin(b.now, t, e, time.Time{}, false)
	b.End(b.now, t, blame.Survived)
	b.Close(t)
	return e
}

// kills lets w kill the worker that it is sent to, alone on it.
func (b *clock) kills(w blame.Work) (blame.Decision, blame.Finding) {
	b.t.Helper()
	return b.killsOn(b.servedLife(), w)
}

func (b *clock) killsOn(e uint64, w blame.Work) (blame.Decision, blame.Finding) {
	b.t.Helper()
	t, d := b.admit(w)
	b.Begin(b.now, t, e, time.Time{}, d.Action == blame.ToLane)
	b.pass(10 * time.Millisecond)
	b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
	f, ok := b.Finding(t)
	if !ok {
		b.t.Fatal("a crash left no finding")
	}
	b.Close(t)
	return d, f
}

func (b *clock) action(w blame.Work) blame.Action {
	t, d := b.Admit(b.now, w)
	if d.Action != blame.Duplicate && d.Action != blame.Refuse && d.Action != blame.Pace && d.Action != blame.HoldBack {
		b.Close(t)
	}
	return d.Action
}

// Law 4: the better work is known to run, the more deaths in the lane it takes:
// somebody may be taking down the workers.
func TestLaw4KnownWorkNeedsMoreDeathsInTheLane(t *testing.T) {
	for _, tc := range []struct{ successes, deaths int }{{0, 1}, {2, 1}, {3, 2}, {40, 3}} {
		b, w := newState(t, blame.Config{}), work(1, 1)
		for range tc.successes {
			b.runs(w)
		}
		b.kills(w) // in the fleet
		for n := 1; ; n++ {
			b.pass(5 * time.Second)
			d, f := b.kills(w)
			if d.Action != blame.ToLane {
				t.Fatalf("after %d successes it was sent %v, want the lane", tc.successes, d.Action)
			}
			if f.Convicted || n > tc.deaths {
				if n != tc.deaths {
					t.Errorf("after %d successes it took %d deaths in the lane (convicted %v), want %d", tc.successes, n, f.Convicted, tc.deaths)
				}
				break
			}
		}
	}
}

// Law 2: one crash per epoch, and its blame sums to 1 whatever was in flight.
func TestLaw2TheBlameOfOneCrashSumsToOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newState(t, blame.Config{})
		e := b.life()
		n := rapid.IntRange(1, 40).Draw(rt, "in flight")
		var tickets []blame.Ticket
		for i := range n {
			w := work(uint64(i), uint64(i%5))
			for range rapid.IntRange(0, 6).Draw(rt, "successes") {
				b.runs(w)
			}
			tk, _ := b.admit(w)
			var overdue time.Time
			if rapid.Bool().Draw(rt, "with a deadline") {
				overdue = b.now.Add(time.Duration(rapid.IntRange(1, 2000).Draw(rt, "ms")) * time.Millisecond)
			}
			b.Begin(b.now, tk, e, overdue, false)
			tickets = append(tickets, tk)
			b.pass(time.Duration(rapid.IntRange(0, 300).Draw(rt, "ms later")) * time.Millisecond)
		}
		class := rapid.SampledFrom([]bezoar.Class{bezoar.Crash, bezoar.OOM, bezoar.Timeout}).Draw(rt, "class")
		for range 2 { // the second end of one epoch is none
			b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: class})
		}
		sum := 0.0
		for _, tk := range tickets {
			f, ok := b.Finding(tk)
			if !ok || f.Share < 0 {
				rt.Fatalf("finding %+v, %v", f, ok)
			}
			sum += f.Share
		}
		if math.Abs(sum-1) > 1e-9 {
			rt.Fatalf("the blame of one crash with %d in flight sums to %v", n, sum)
		}
	})
}

// Law 2: what nobody is to blame for blames nobody.
func TestLaw2PlannedEndsIdleDeathsAndFaultsBlameNobody(t *testing.T) {
	b := newState(t, blame.Config{})
	e := b.life()
	var tickets []blame.Ticket
	for i := range 5 {
		tk, _ := b.admit(work(uint64(i), 1))
		b.Begin(b.now, tk, e, time.Time{}, false)
		tickets = append(tickets, tk)
	}
	b.Crash(b.now, e, true, bezoar.Evidence{Class: bezoar.Interrupted})
	for _, tk := range tickets {
		if f, ok := b.Finding(tk); !ok || !f.Planned || f.Share != 0 {
			t.Errorf("a planned end left %+v, %v", f, ok)
		}
		b.Close(tk)
	}
	b.Crash(b.now, b.life(), false, bezoar.Evidence{Worker: "idle", Class: bezoar.Crash})
	tk, _ := b.admit(work(9, 1))
	b.Begin(b.now, tk, b.life(), time.Time{}, false)
	b.End(b.now, tk, blame.Abandoned)
	b.Close(tk)
	if vs := b.Verdicts(b.now); len(vs) != 0 {
		t.Errorf("verdicts %+v", vs)
	}
}

// Law 3: the crash that convicts is the N-th.
func TestLaw3ConvictionTakesNCrashes(t *testing.T) {
	for n := 1; n <= 4; n++ {
		b := newState(t, blame.Config{Rule: blame.Rule{After: n}})
		for i := range 50 { // a fleet that is well
			b.runs(work(uint64(100+i%10), 2))
		}
		w := work(1, 1)
		for crash := 1; crash <= n; crash++ {
			d, f := b.kills(w)
			if wantLane := crash > 1; (d.Action == blame.ToLane) != wantLane {
				t.Errorf("N=%d: crash %d was at %v", n, crash, d.Action)
			}
			if f.Convicted != (crash == n) {
				t.Errorf("N=%d: after crash %d convicted is %v", n, crash, f.Convicted)
			}
		}
		if a := b.action(w); a != blame.Refuse {
			t.Errorf("N=%d: the next copy goes to %v", n, a)
		}
	}
}

// Law 3: copies of an unproven fingerprint wait for the first.
func TestLaw3CopiesOfUnprovenWorkWait(t *testing.T) {
	b := newState(t, blame.Config{})
	w := work(1, 1)
	first, _ := b.admit(w)
	if a := b.action(w); a != blame.Duplicate {
		t.Errorf("a copy goes to %v", a)
	}
	b.Begin(b.now, first, b.life(), time.Time{}, false)
	b.Begun(b.now, first)
	b.pass(999 * time.Millisecond)
	if a := b.action(w); a != blame.Duplicate {
		t.Errorf("while the answer is young a copy goes to %v", a)
	}
	b.pass(time.Millisecond)
	if a := b.action(w); a == blame.Duplicate {
		t.Error("copies wait for an answer that has been streaming for a second")
	}
	b.End(b.now, first, blame.Survived)
	b.Close(first)
	for range 3 {
		b.admit(w) // proven: all at once
	}
}

// Calls that wait for one another come with the time at which they began to.
func TestCopiesComeWithEarlierTimes(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	w := work(1, 1)
	first, _ := b.admit(w)
	b.Begin(b.now, first, b.life(), time.Time{}, false)
	came := b.now
	if a := b.action(w); a != blame.Duplicate {
		t.Errorf("a copy goes to %v", a)
	}
	b.pass(time.Second)
	b.End(b.now, first, blame.Survived)
	b.Close(first)
	b.admit(w) // the one that waited
	if _, d := b.Admit(came, w); d.Action != blame.Duplicate {
		t.Errorf("a copy that came a second before the first answer goes to %v", d.Action)
	}
}

// Law 4: busy work that was in flight at every death is never convicted, as
// long as it runs clean alone.
func TestLaw4PopularWorkAtEveryDeathIsNotConvicted(t *testing.T) {
	b := newState(t, blame.Config{})
	busy := work(1, 1)
	for range 30 {
		b.runs(busy)
	}
	for i := range 50 {
		b.pass(time.Second)
		e := b.life()
		mine, d := b.admit(busy)
		if d.Action == blame.Refuse {
			t.Fatalf("refused after %d deaths", i)
		}
		b.Begin(b.now, mine, e, time.Time{}, d.Action == blame.ToLane)
		if d.Action == blame.ToLane { // its turn alone
			b.End(b.now, mine, blame.Survived)
			b.Close(mine)
			continue
		}
		pill, _ := b.admit(work(uint64(1000+i), uint64(50+i)))
		b.Begin(b.now, pill, e, time.Time{}, false)
		b.pass(5 * time.Millisecond)
		b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
		f, _ := b.Finding(mine)
		if f.Convicted || f.Share > 0.1 {
			t.Fatalf("death %d: %+v", i, f)
		}
		b.Close(mine)
		b.Close(pill)
	}
}

// Law 6: many disjoint suspects at once are no reason to convict, and what was
// convicted in the same moment is let go.
func TestLaw6TheGateSuspendsConvictions(t *testing.T) {
	b := newState(t, blame.Config{})
	b.SetFleet(8)
	hasty := work(1, 1)
	b.kills(hasty)
	if _, f := b.kills(hasty); !f.Convicted {
		t.Fatal("the premise: two crashes convict")
	}
	for i := range 4 {
		tk, _ := b.admit(work(uint64(10+i), uint64(10+i)))
		e := b.life()
		b.Begin(b.now, tk, e, time.Time{}, false)
		b.Crash(b.now, e, false, bezoar.Evidence{Worker: string(rune('a' + i)), Class: bezoar.Crash})
		b.Close(tk)
	}
	if a := b.action(hasty); a != blame.ToLane {
		t.Errorf("what was convicted in the same second goes to %v", a)
	}
	if _, f := b.kills(work(10, 10)); f.Convicted || !f.Gated {
		t.Errorf("a crash in the lane while everything crashes left %+v", f)
	}
	var kinds []blame.EventKind
	for _, ev := range b.Drain(nil) {
		kinds = append(kinds, ev.Kind)
	}
	b.pass(11 * time.Second)
	for _, ev := range b.Drain(nil) {
		kinds = append(kinds, ev.Kind)
	}
	count := map[blame.EventKind]int{}
	for _, k := range kinds {
		count[k]++
	}
	if count[blame.GateClosed] != 1 || count[blame.GateOpened] != 1 || count[blame.Refunded] != 1 {
		t.Errorf("events %v", kinds)
	}
}

// Law 10: newcomers never evict convicts, and nothing grows.
func TestLaw10AFullTableKeepsItsConvicts(t *testing.T) {
	b := newState(t, blame.Config{MaxCases: 64, MaxGroups: 64, Rule: blame.Rule{For: time.Hour}})
	for i := range 20 {
		b.runs(work(uint64(i), 1))
	}
	var convicts []blame.Work
	for i := range 40 {
		w := work(uint64(1000+i), uint64(1000+i))
		b.kills(w)
		b.kills(w)
		convicts = append(convicts, w)
		b.pass(time.Second)
		b.runs(work(1, 1))
	}
	for i := range 5000 {
		w := work(uint64(10_000+i), uint64(10_000+i))
		if b.action(w) == blame.ToFleet {
			b.kills(w)
		}
		if i%10 == 0 {
			b.pass(10 * time.Millisecond)
			for j := range 25 {
				b.runs(work(uint64(j%5), 1))
			}
		}
	}
	for i, w := range convicts {
		if a := b.action(w); a != blame.Refuse {
			t.Errorf("convict %d goes to %v after a flood of newcomers", i, a)
		}
	}
	if n := len(b.Verdicts(b.now)); n > 64+64 {
		t.Errorf("%d verdicts in a table of 64 cases and 64 groups", n)
	}
}

// Law 12: a verdict shows its evidence.
func TestLaw12AVerdictShowsItsEvidence(t *testing.T) {
	b := newState(t, blame.Config{})
	w := work(1, 1)
	b.kills(w)
	b.Describe(&w, "GET /x", "/*")
	b.kills(w)
	v, ok := b.Lookup(&w)
	if !ok || v.State != bezoar.Quarantined || v.Reason == "" || v.Sample != "GET /x" || v.Route != "/*" || v.Level != 1 {
		t.Fatalf("verdict %+v", v)
	}
	if len(v.Evidence) != 2 || v.Evidence[0].Lane || !v.Evidence[1].Lane || v.Evidence[1].Share != 1 || v.Evidence[1].InFlight != 1 {
		t.Errorf("evidence %+v", v.Evidence)
	}
	if d := v.Until.Sub(b.now); d < time.Minute || d > 72*time.Second {
		t.Errorf("quarantined for %v, want 1m and at most 20 %% more", d)
	}
}
