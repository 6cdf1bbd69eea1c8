package blame_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// restart stores what is held and starts the state anew, as a process that died.
func (b *clock) restart(t *testing.T) {
	t.Helper()
	stored := b.Verdicts(b.now)
	b.State = newState(t, blame.Config{}).State
	for _, v := range stored {
		b.Restore(b.now, v, nil)
	}
}

func flight(ws ...blame.Work) (out []blame.InFlight) {
	for _, w := range ws {
		out = append(out, blame.InFlight{Work: w})
	}
	return out
}

func memory() blame.SelfDeath { return blame.SelfDeath{Proof: blame.OutOfMemory} }

func panicked() blame.SelfDeath {
	return blame.SelfDeath{Proof: blame.Panicked, Line: "panic: boom", Trace: []string{"panic: boom", "main.f (f.go:1)"}}
}

// Fifty kills of Bezoar blame nobody, whatever was in flight at each of them.
func TestDeathsWithoutProofBlameNobody(t *testing.T) {
	b := newState(t, blame.Config{})
	for range 50 {
		if c, s := b.SelfCrash(b.now, flight(work(1, 1), work(2, 2)), blame.SelfDeath{}); c != 0 || s != 0 {
			t.Fatalf("%d convicted, %d suspects", c, s)
		}
		if c, s := b.SelfCrash(b.now, flight(work(3, 3)), blame.SelfDeath{Line: "SIGQUIT: quit"}); c != 0 || s != 0 {
			t.Fatalf("%d convicted, %d suspects", c, s)
		}
		b.restart(t)
	}
	if vs := b.Verdicts(b.now); len(vs) != 0 || b.count(blame.Suspect) != 0 {
		t.Errorf("verdicts %+v", vs)
	}
	if a := b.action(work(1, 1)); a == blame.ToLane || a == blame.Refuse {
		t.Errorf("work goes to %v", a)
	}
}

func TestAPanicConvictsWhatWasAloneInFlight(t *testing.T) {
	pill, busy := work(1, 1), work(2, 2)
	exempt := work(3, 3)
	exempt.Exempt = true
	for _, tc := range []struct {
		name      string
		flight    []blame.InFlight
		elsewhere int
		convicted int
		suspected int
		state     bezoar.State // of the pill
	}{
		{"alone", flight(pill), 0, 1, 0, bezoar.Quarantined},
		{"copies of it", flight(pill, pill, pill), 0, 1, 0, bezoar.Quarantined},
		{"with one other", flight(pill, work(4, 4)), 0, 0, 2, bezoar.Suspected},
		{"with one of another fleet", flight(pill), 1, 0, 1, bezoar.Suspected},
		{"with one that succeeds", append(flight(pill), blame.InFlight{Work: busy, Successes: 40}), 0, 0, 1, bezoar.Suspected},
		{"with one that is exempt", flight(pill, exempt), 0, 0, 1, bezoar.Suspected},
		{"with a record of success", []blame.InFlight{{Work: pill, Successes: 1}}, 0, 0, 1, bezoar.Suspected},
		{"exempt", flight(exempt), 0, 0, 0, ""},
		{"nothing", nil, 0, 0, 0, ""},
	} {
		b := newState(t, blame.Config{})
		d := panicked()
		d.Elsewhere = tc.elsewhere
		convicted, suspected := b.SelfCrash(b.now, tc.flight, d)
		if convicted != tc.convicted || suspected != tc.suspected || b.state(pill) != tc.state || b.state(busy) != "" || b.state(exempt) != "" {
			t.Errorf("%s: %d convicted, %d suspects; the pill is %q", tc.name, convicted, suspected, b.state(pill))
		}
		if v, _ := b.Lookup(&pill); tc.elsewhere == 1 && v.Score != 0.5 {
			t.Errorf("%s: it has %v of the blame", tc.name, v.Score)
		}
		if err := b.Check(); err != nil {
			t.Error(err)
		}
	}
}

func TestAConvictionByAPanicSaysSo(t *testing.T) {
	b := newState(t, blame.Config{})
	w, v := work(1, 1), bezoar.Verdict{}
	b.SelfCrash(b.now, flight(w), panicked())
	for range 2 { // before a restart and after it
		v, _ = b.Lookup(&w)
		const want = "Bezoar itself panicked with this alone in flight: panic: boom"
		if v.Reason != want || v.Cause != bezoar.Crash || len(v.Evidence) != 1 {
			t.Fatalf("verdict %+v", v)
		}
		if ev := v.Evidence[0]; ev.Detail != want || ev.Worker != blame.Self || ev.Share != 1 || ev.InFlight != 1 || ev.Lane || strings.Join(ev.Stderr, "|") != "panic: boom|main.f (f.go:1)" {
			t.Errorf("evidence %+v", ev)
		}
		b.restart(t)
	}
	if b.action(w) != blame.Refuse {
		t.Error("it is not refused")
	}
	// Its probe panics again, among others: it serves twice the time.
	b.pass(v.Until.Sub(b.now) + time.Second)
	if c, s := b.SelfCrash(b.now, flight(w, work(2, 2)), panicked()); c != 1 || s != 1 || b.action(w) != blame.Refuse {
		t.Errorf("after its probe %d are convicted, %d suspects, and it goes to %v", c, s, b.action(w))
	}
	// What stands convicted by an operator, or serves its time, stays as it is.
	before, _ := b.Lookup(&w)
	if c, s := b.SelfCrash(b.now, flight(w), panicked()); c != 0 || s != 0 {
		t.Errorf("%d convicted, %d suspects of what serves its time", c, s)
	}
	if after, _ := b.Lookup(&w); !after.Until.Equal(before.Until) || len(after.Evidence) != len(before.Evidence) {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

// One suspect that comes back clean is clear, although Bezoar died over it.
func TestASuspectOfBezoarsDeathIsPardonedInTheLane(t *testing.T) {
	b := newState(t, blame.Config{})
	w := work(1, 1)
	b.SelfCrash(b.now, flight(w, work(2, 2)), panicked())
	b.restart(t)
	if d := b.runs(w); d.Action != blame.ToLane || b.state(w) != "" {
		t.Errorf("it got %+v and is %q", d, b.state(w))
	}
}

func TestDeathsForLackOfMemory(t *testing.T) {
	pill, other, third := work(1, 1), work(2, 2), work(3, 3)
	busy := blame.InFlight{Work: work(9, 9), Successes: 40}
	for _, tc := range []struct {
		name    string
		deaths  []func(b *clock) []blame.InFlight
		rule    blame.Rule
		convict bool // the last of them, the pill
	}{
		{name: "once", deaths: deaths(flight(pill))},
		{name: "twice", deaths: deaths(flight(pill), flight(pill)), convict: true},
		{name: "twice, among others", deaths: deaths(append(flight(pill, other), busy), append(flight(third, pill), busy)), convict: true},
		{name: "twice, as another was", deaths: deaths(flight(pill, other), flight(pill, other))},
		{name: "three times, as another was twice", deaths: deaths(flight(pill, other), flight(pill, other), flight(pill)), convict: true},
		{name: "at different ones", deaths: deaths(flight(pill), flight(other))},
		{name: "with a success between", deaths: []func(*clock) []blame.InFlight{
			func(*clock) []blame.InFlight { return flight(pill) },
			func(b *clock) []blame.InFlight { b.runs(pill); return flight(pill) },
		}},
		{name: "with a success that was sent before", deaths: deaths(flight(pill), []blame.InFlight{{Work: pill, Successes: 1}})},
		{name: "with a long time between", deaths: []func(*clock) []blame.InFlight{
			func(*clock) []blame.InFlight { return flight(pill) },
			func(b *clock) []blame.InFlight { b.pass(11 * time.Minute); return flight(pill) },
		}},
		{name: "twice, where once is enough for workers", rule: blame.Rule{After: 1}, deaths: deaths(flight(pill)), convict: false},
		{name: "twice, where workers need three", rule: blame.Rule{After: 3}, deaths: deaths(flight(pill), flight(pill))},
		{name: "three times, where workers need three", rule: blame.Rule{After: 3}, deaths: deaths(flight(pill), flight(pill), flight(pill)), convict: true},
	} {
		b := newState(t, blame.Config{Rule: tc.rule})
		b.well()
		for i, death := range tc.deaths {
			last := i == len(tc.deaths)-1
			convicted, _ := b.SelfCrash(b.now, death(b), memory())
			if want := last && tc.convict; (convicted == 1) != want || convicted > 1 || (b.state(pill) == bezoar.Quarantined) != want {
				t.Errorf("%s: after death %d %d are convicted, the pill is %q", tc.name, i+1, convicted, b.state(pill))
			}
			for _, w := range []blame.Work{other, third, busy.Work} {
				if s := b.state(w); s == bezoar.Quarantined || w.Fingerprint == busy.Work.Fingerprint && s != "" {
					t.Errorf("%s: after death %d an innocent is %q", tc.name, i+1, s)
				}
			}
			stored := b.Verdicts(b.now)
			b.State = newState(t, blame.Config{Rule: tc.rule}).State
			for _, v := range stored {
				b.Restore(b.now, v, nil)
			}
		}
		if v, _ := b.Lookup(&pill); tc.convict && (v.Cause != bezoar.OOM || !strings.Contains(v.Reason, "deaths of Bezoar itself for lack of memory") || !strings.Contains(v.Evidence[0].Detail, "ran out of memory")) {
			t.Errorf("%s: verdict %+v", tc.name, v)
		}
	}
}

func deaths(fs ...[]blame.InFlight) (out []func(*clock) []blame.InFlight) {
	for _, f := range fs {
		out = append(out, func(*clock) []blame.InFlight { return f })
	}
	return out
}

// A panic is no death for lack of memory: of each there must be enough.
func TestProofsAreNotMixed(t *testing.T) {
	b := newState(t, blame.Config{})
	w := work(1, 1)
	for range 5 {
		b.SelfCrash(b.now, flight(w, work(2, 2)), panicked())
		b.restart(t)
	}
	if c, _ := b.SelfCrash(b.now, flight(w), memory()); c != 0 || b.state(w) != bezoar.Suspected {
		t.Errorf("after panics in company and one death for memory %d are convicted", c)
	}
}

// selfCrash lets Bezoar die, and looks whom that convicts.
func (m *machine) selfCrash(t *rapid.T) {
	var fl []blame.InFlight
	kinds := map[bezoar.Fingerprint]bool{}
	exempt := map[bezoar.Fingerprint]bool{}
	for range rapid.IntRange(0, 4).Draw(t, "in flight") {
		f := blame.InFlight{Work: m.work(t), Successes: rapid.SampledFrom([]float64{0, 0, 0.3, 5}).Draw(t, "successes")}
		fl = append(fl, f)
		kinds[f.Work.Fingerprint] = true
		exempt[f.Work.Fingerprint] = exempt[f.Work.Fingerprint] || f.Work.Exempt
	}
	d := blame.SelfDeath{
		Proof:     rapid.SampledFrom([]blame.Proof{blame.NoProof, blame.Panicked, blame.OutOfMemory}).Draw(t, "proof"),
		Elsewhere: rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "elsewhere"),
	}
	was := map[string]bezoar.Verdict{}
	for _, v := range m.b.Verdicts(m.now) {
		was[v.ID] = v
	}
	m.check(t) // and drain
	convicted, suspected := m.b.SelfCrash(m.now, fl, d)
	if d.Proof == blame.NoProof && (convicted+suspected > 0 || m.b.Pending()) {
		t.Fatalf("without proof %d are convicted, %d suspects", convicted, suspected)
	}
	fresh := 0
	for _, v := range m.b.Verdicts(m.now) {
		old := was[v.ID]
		if v.State != bezoar.Quarantined || old.State == bezoar.Quarantined || old.State == bezoar.Probing || v.Scope != bezoar.ScopeWork {
			continue
		}
		fresh++
		starved := 0
		for _, ev := range v.Evidence {
			if ev.Worker == blame.Self && ev.Class == bezoar.OOM {
				starved++
			}
		}
		alone := len(kinds) == 1 && d.Elsewhere == 0
		if !kinds[v.Fingerprint] || d.Proof == blame.Panicked && !alone || d.Proof == blame.OutOfMemory && starved < max(2, m.rule.After) {
			t.Fatalf("a death by %d with %d in flight, %d elsewhere convicted %+v", d.Proof, len(kinds), d.Elsewhere, v)
		}
		for _, f := range fl {
			if f.Work.Fingerprint == v.Fingerprint && f.Successes >= 0.5 && !exempt[v.Fingerprint] {
				t.Fatalf("work with %v successes is convicted: %+v", f.Successes, v)
			}
		}
	}
	if fresh > 1 {
		t.Fatalf("%d are convicted by one death of Bezoar", fresh)
	}
}
