package blame_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// machine drives a small state through anything that may happen to it, and
// keeps an account of its own.
type machine struct {
	b         *blame.State
	now       time.Time
	rule      blame.Rule
	epochs    []uint64
	ids       uint64
	open      []*opened
	waiting   map[bezoar.Fingerprint]bool
	good      map[bezoar.Fingerprint]int // successes
	levels    map[string]int             // by verdict: a higher one is a conviction
	abandoned bool                       // what is not in flight may have a share
}

// opened is one ticket that is held.
type opened struct {
	ticket blame.Ticket
	work   blame.Work
	lane   bool
	epoch  uint64 // 0: not in flight
}

func newMachine(t *rapid.T) *machine {
	m := &machine{
		now: start, waiting: map[bezoar.Fingerprint]bool{}, good: map[bezoar.Fingerprint]int{}, levels: map[string]int{},
		rule: blame.Rule{After: rapid.IntRange(1, 3).Draw(t, "N"), Within: time.Minute, For: 2 * time.Second, Max: 10 * time.Second}.WithDefaults(),
	}
	cfg := blame.Config{
		Rule: m.rule, MaxCases: 16, MaxProven: 64, MaxGroups: 16, Learning: time.Second, CanaryMax: 2,
		Window:   time.Duration(rapid.SampledFrom([]int{-1, int(time.Second)}).Draw(t, "window")),
		GateHold: 3 * time.Second, Rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)),
	}
	m.b = blame.New(cfg, m.now)
	m.abandoned = cfg.Window > 0 // what was answered shortly before a death has a share, too
	m.b.SetFleet(rapid.IntRange(1, 10).Draw(t, "fleet"))
	return m
}

func (m *machine) work(t *rapid.T) blame.Work {
	n := rapid.Uint64Range(0, 30).Draw(t, "work")
	w := blame.Work{Fingerprint: fp(n), Shape: fp(1<<40 + n%4), Client: fp(1<<41 + n%3)}
	w.Exempt = rapid.IntRange(0, 20).Draw(t, "exempt") == 0
	return w
}

func (m *machine) pick(t *rapid.T) *opened {
	if len(m.open) == 0 {
		t.Skip("nothing is open")
	}
	return m.open[rapid.IntRange(0, len(m.open)-1).Draw(t, "ticket")]
}

// when is now, or what a call took for now before it had to wait.
func (m *machine) when(t *rapid.T) time.Time {
	return m.now.Add(-time.Duration(rapid.SampledFrom([]int{0, 0, 0, 60, 400}).Draw(t, "ms ago")) * time.Millisecond)
}

func (m *machine) Admit(t *rapid.T) {
	w := m.work(t)
	if w.Exempt {
		m.open = append(m.open, &opened{ticket: m.b.Open(w), work: w})
		return
	}
	tk, d := m.b.Admit(m.when(t), w)
	v, held := m.b.Lookup(&w)
	switch d.Action {
	case blame.Duplicate:
		if !m.b.Wakes(w.Fingerprint) {
			t.Fatalf("a copy of %v waits for nobody", w.Fingerprint.Short())
		}
		m.waiting[w.Fingerprint] = true
		return
	case blame.Pace:
		return
	case blame.HoldBack:
		if _, ok := m.b.Recovery(m.now); !ok {
			t.Fatalf("%v is held back, and nothing recovers", w.Fingerprint.Short())
		}
		return
	case blame.Refuse:
		if !held || v.State != bezoar.Quarantined && v.State != bezoar.Probing {
			t.Fatalf("refused %v, against which is held %+v", w.Fingerprint.Short(), v)
		}
		return
	case blame.ToFleet, blame.ToCanary:
		if held && v.Scope == bezoar.ScopeWork {
			t.Fatalf("work goes to %v, and against it is held %+v", d.Action, v)
		}
	}
	m.open = append(m.open, &opened{ticket: tk, work: w, lane: d.Action == blame.ToLane})
}

func (m *machine) Redrive(t *rapid.T) {
	w := m.work(t)
	w.Exempt = false
	if tk, ok := m.b.Redrive(w); ok {
		m.open = append(m.open, &opened{ticket: tk, work: w, lane: true})
	}
}

func (m *machine) Begin(t *rapid.T) {
	o := m.pick(t)
	if o.epoch != 0 || len(m.epochs) == 0 {
		t.Skip("in flight, or no worker")
	}
	if m.b.Overtaken(m.when(t), o.ticket) {
		m.close(t, o)
		return
	}
	e := m.epochs[rapid.IntRange(0, len(m.epochs)-1).Draw(t, "epoch")]
	var overdue time.Time
	if rapid.Bool().Draw(t, "deadline") {
		overdue = m.now.Add(time.Duration(rapid.IntRange(1, 500).Draw(t, "ms")) * time.Millisecond)
	}
	if !m.b.Begin(m.when(t), o.ticket, e, overdue, o.lane) {
		t.Fatalf("epoch %d is not open", e)
	}
	o.epoch = e
}

func (m *machine) Begun(t *rapid.T) {
	if o := m.pick(t); o.epoch != 0 {
		m.b.Begun(m.when(t), o.ticket)
	}
}

func (m *machine) End(t *rapid.T) {
	o := m.pick(t)
	if o.epoch == 0 {
		t.Skip("not in flight")
	}
	r := blame.Result(rapid.IntRange(int(blame.Survived), int(blame.Abandoned)).Draw(t, "result"))
	m.b.End(m.when(t), o.ticket, r)
	o.epoch = 0
	switch r {
	case blame.Survived:
		m.good[o.work.Fingerprint]++
	case blame.Abandoned:
		m.abandoned = true
	}
	if r != blame.Unsent {
		m.close(t, o)
	}
}

func (m *machine) Close(t *rapid.T) { m.close(t, m.pick(t)) }

func (m *machine) close(t *rapid.T, o *opened) {
	if m.b.Close(o.ticket) {
		delete(m.waiting, o.work.Fingerprint)
	}
	if m.b.Close(o.ticket) {
		t.Fatal("a ticket was given back twice")
	}
	for i := range m.open {
		if m.open[i] == o {
			m.open = append(m.open[:i], m.open[i+1:]...)
			break
		}
	}
}

func (m *machine) OpenEpoch(t *rapid.T) {
	if len(m.epochs) >= 10 {
		t.Skip("enough workers")
	}
	m.ids++
	m.b.OpenEpoch(m.ids)
	m.epochs = append(m.epochs, m.ids)
}

func (m *machine) Crash(t *rapid.T) {
	if len(m.epochs) == 0 {
		t.Skip("no worker")
	}
	i := rapid.IntRange(0, len(m.epochs)-1).Draw(t, "epoch")
	e := m.epochs[i]
	m.epochs = append(m.epochs[:i], m.epochs[i+1:]...)
	planned := rapid.IntRange(0, 3).Draw(t, "planned") == 0
	class := rapid.SampledFrom([]bezoar.Class{bezoar.Crash, bezoar.OOM, bezoar.Timeout}).Draw(t, "class")
	name := rapid.StringOfN(rapid.RuneFrom([]rune("abcdefgh")), 1, 1, 1).Draw(t, "name")
	m.b.Crash(m.now, e, planned, bezoar.Evidence{Worker: name, Class: class, ExitCode: -1})
	type key struct {
		fp     bezoar.Fingerprint
		exempt bool
	}
	shares := map[key]float64{}
	for _, o := range m.open {
		if o.epoch != e {
			continue
		}
		f, ok := m.b.Finding(o.ticket)
		if !ok || f.Planned != planned || planned && f != (blame.Finding{Planned: true}) {
			t.Fatalf("the end of %d (planned %v) left %+v, %v", e, planned, f, ok)
		}
		shares[key{o.work.Fingerprint, o.work.Exempt}] = f.Share
		o.epoch = 0
	}
	sum := 0.0
	for _, s := range shares {
		sum += s
	}
	if planned {
		return
	}
	if sum > 1+1e-9 || len(shares) > 0 && !m.abandoned && sum < 1-1e-9 {
		t.Fatalf("the shares of one crash sum to %v", sum)
	}
}

func (m *machine) Time(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.SampledFrom([]int{1, 20, 300, 1100, 4000, 61_000}).Draw(t, "ms")) * time.Millisecond)
	m.b.Tick(m.now)
}

func (m *machine) Operator(t *rapid.T) {
	w := m.work(t)
	w.Exempt = false
	switch rapid.IntRange(0, 5).Draw(t, "order") {
	case 0:
		if rapid.Bool().Draw(t, "shape") {
			w.Fingerprint = bezoar.Fingerprint{}
		}
		_, _ = m.b.Quarantine(m.now, m.now.Add(3*time.Second), w, "by order", "GET /")
	case 1:
		if vs := m.b.Verdicts(m.now); len(vs) > 0 {
			v := vs[rapid.IntRange(0, len(vs)-1).Draw(t, "verdict")]
			if got, ok := m.b.Release(m.now, v.ID); !ok || got.ID != v.ID {
				t.Fatalf("released %+v, %v instead of %s", got, ok, v.ID)
			}
		}
	case 2:
		m.b.NewBuild(m.now)
	case 3:
		m.b.Suspend(m.now, m.now.Add(time.Second))
	case 4:
		m.b.Describe(&w, "GET /x", "/*")
	case 5:
		m.selfCrash(t)
	}
}

// check is what holds after every step.
func (m *machine) check(t *rapid.T) {
	if err := m.b.Check(); err != nil {
		t.Fatal(err)
	}
	for fp := range m.waiting {
		if !m.b.Wakes(fp) {
			t.Fatalf("copies of %v wait for ever", fp.Short())
		}
	}
	for _, e := range m.b.Drain(nil) {
		if e.Kind == blame.Convicted && e.Verdict.Scope == bezoar.ScopeWork && !e.Verdict.Manual && e.Verdict.Level > m.levels[e.Verdict.ID] {
			m.conviction(t, &e)
		}
		m.levels[e.Verdict.ID] = e.Verdict.Level
	}
	z := m.b.Sizes()
	if z.Tickets != len(m.open) || z.Epochs != len(m.epochs) || z.Cases > 16 || z.Groups > 16 || z.Canaries > 2 {
		t.Fatalf("the state holds %+v with %d tickets and %d epochs open", z, len(m.open), len(m.epochs))
	}
}

// conviction checks law 4: a crash alone in the lane, or the blame of N over
// two epochs or more, or strikes, or Bezoar's own deaths; with N = 1 a crash
// alone is enough. Work with a record is convicted only by what it did alone.
func (m *machine) conviction(t *rapid.T, e *blame.Event) {
	v := &e.Verdict
	if e.Evidence.Worker == blame.Self {
		return // selfCrash has looked at it
	}
	lanes, strikes, sum, epochs := 0, 0, 0.0, 0
	for _, ev := range v.Evidence {
		if strings.Contains(ev.Detail, "past the deadline") || strings.Contains(ev.Detail, "broke its connection") {
			strikes++
			continue
		}
		if ev.Share == 0 {
			continue // it was the fleet
		}
		epochs++
		sum += ev.Share
		if ev.Lane {
			lanes++
		}
	}
	record := m.good[v.Fingerprint] >= 8 && m.now.Sub(start) < time.Minute
	switch {
	case lanes > 0 || strikes > 0 && !record:
	case strikes > 0 && e.Evidence.Lane:
	case m.rule.After == 1 && e.Evidence.Share > 1-1e-3 && !record:
	case epochs >= 2 && sum >= float64(max(2, m.rule.After))-1e-3 && !record:
	default:
		t.Fatalf("convicted with N = %d, %d successes: %+v", m.rule.After, m.good[v.Fingerprint], v)
	}
}

// Whatever happens, the state's indices agree, nobody waits for ever, and no one
// is convicted or refused without a reason.
func TestAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		step := func(f func(*rapid.T)) func(*rapid.T) { return f }
		t.Repeat(map[string]func(*rapid.T){
			"":          m.check,
			"admit":     step(m.Admit),
			"admit2":    step(m.Admit),
			"redrive":   step(m.Redrive),
			"begin":     step(m.Begin),
			"begin2":    step(m.Begin),
			"begun":     step(m.Begun),
			"end":       step(m.End),
			"close":     step(m.Close),
			"openEpoch": step(m.OpenEpoch),
			"crash":     step(m.Crash),
			"time":      step(m.Time),
			"operator":  step(m.Operator),
		})
		for len(m.open) > 0 {
			m.close(t, m.open[0])
		}
		m.check(t)
		if len(m.waiting) > 0 {
			t.Fatalf("%d copies wait when all have left", len(m.waiting))
		}
		if z := m.b.Sizes(); z.Leaders != 0 || z.Canaries != 0 {
			t.Fatalf("the state holds %+v when all have left", z)
		}
	})
}
