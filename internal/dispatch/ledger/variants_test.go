package ledger_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// traits stand for a request that has these features beside its fingerprint.
type traits struct {
	variant  byte
	features []uint64
}

func (r traits) Variant() bezoar.Fingerprint      { return bezoar.Fingerprint{0: r.variant, 1: 3} }
func (r traits) Endpoint() bezoar.Fingerprint     { return bezoar.Fingerprint{0: 4} }
func (r traits) Features(dst []uint64) []uint64   { return append(dst, r.features...) }
func (r traits) Text(uint64) string               { return "header X-Theme: neon" }
func variant(w blame.Work, r traits) blame.Work   { w.Traits = r; return w }
func of(n, v byte, features ...uint64) blame.Work { return variant(work(n), traits{v, features}) }
func byKey(ls []bezoar.Letter) map[string]bezoar.Letter {
	found := map[string]bezoar.Letter{}
	for _, l := range ls {
		found[l.Key().String()] = l
	}
	return found
}

// Two variants of one URL that kill are two letters, and copies go to their own.
func TestEachVariantThatKillsHasItsLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t)
		b := open(t, st, nil)
		one, two := of(1, 11), of(1, 12)
		for _, w := range []blame.Work{one, two} {
			for !b.kill(w) {
			}
		}
		for range 4 {
			if !b.refused(one) {
				t.Fatal("a copy is not refused")
			}
		}
		if !b.refused(two) {
			t.Fatal("a copy of the other is not refused")
		}
		time.Sleep(1500 * time.Millisecond) // of the bubble's time: a flush
		synctest.Wait()
		found := byKey(letters(t, st))
		for key, copies := range map[string]int64{one.Traits.Variant().String(): 5, two.Traits.Variant().String(): 2} {
			if l := found[key]; l.Copies != copies || l.Fingerprint != one.Fingerprint || l.Verdict == "" {
				t.Errorf("the letter of variant %s is %+v, want %d copies", key, l, copies)
			}
		}
		if len(found) != 2 {
			t.Errorf("there are %d letters", len(found))
		}
		// Each names its own verdict.
		for _, l := range found {
			v, err := b.Verdict(l.Verdict)
			if err != nil || v.Scope != bezoar.ScopeVariant || v.Variant != l.Variant {
				t.Errorf("letter %s names %+v, %v", l.ID, v, err)
			}
		}
	})
}

// An order may be on one variant.
func TestAnOrderOnAVariant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, newStore(t), nil)
		o := ledger.Order{Work: work(1), For: time.Hour, Reason: "ordered"}
		o.Work.Variant = of(1, 11).Traits.Variant()
		v, err := b.Quarantine(t.Context(), o)
		if err != nil || v.Scope != bezoar.ScopeVariant || v.Variant != o.Work.Variant || !v.Manual {
			t.Fatalf("the order is %+v, %v", v, err)
		}
		if !b.refused(of(1, 11)) || b.refused(of(1, 12)) {
			t.Error("it refuses something else")
		}
		if _, err := b.Release(t.Context(), v.ID); err != nil || b.refused(of(1, 11)) {
			t.Errorf("its release: %v", err)
		}
	})
}

// What is refused as a whole fingerprint shares one letter, whatever it consists of.
func TestAFloodOfVariantsIsOneLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t)
		b := open(t, st, nil)
		v, err := b.Quarantine(t.Context(), ledger.Order{Work: work(1), For: time.Hour})
		if err != nil || v.Scope != bezoar.ScopeWork {
			t.Fatalf("the order is %+v, %v", v, err)
		}
		for i := range byte(200) {
			if !b.refused(of(1, i)) {
				t.Fatal("a variant is not refused")
			}
		}
		time.Sleep(1500 * time.Millisecond) // of the bubble's time: a flush
		synctest.Wait()
		if ls := letters(t, st); len(ls) != 1 || ls[0].Copies != 200 || !ls[0].Variant.IsZero() {
			t.Errorf("letters %+v", ls)
		}
	})
}

// A verdict about one variant holds on every node, and for that variant alone; so
// does its release.
func TestVariantsAreConvictedOnEveryNode(t *testing.T) {
	together(t, 2, func(ns *nodes) {
		pill, innocent := of(1, 11), of(1, 12)
		ns.convict(0, pill)
		ns.pass(follow)
		if _, d, _ := ns.all[1].Admit(pill); d.Action != blame.Refuse {
			t.Errorf("the other node admits the pill: %+v", d)
		}
		tk, d, _ := ns.all[1].Admit(innocent)
		if d.Action == blame.Refuse {
			t.Errorf("the other node refuses another variant: %+v", d)
		}
		ns.all[1].Close(tk, innocent.Fingerprint)
		v := ns.all[1].Verdicts()[0]
		if v.Scope != bezoar.ScopeVariant || v.Variant != pill.Traits.Variant() || len(v.Why) == 0 {
			t.Errorf("the other node holds %+v", v)
		}
		if _, err := ns.all[1].Release(t.Context(), v.ID); err != nil {
			t.Fatal(err)
		}
		ns.pass(time.Minute)
		ns.want(pill, "", "")
	})
}

// Two nodes that convict one variant at once come to hold one verdict, and two
// variants stay two.
func TestNodesAgreeOnVerdictsAboutVariants(t *testing.T) {
	together(t, 3, func(ns *nodes) {
		ns.convict(0, of(1, 11))
		ns.convict(1, of(1, 11))
		ns.convict(2, of(2, 21))
		ns.pass(2 * time.Second)
		ids := map[string]bool{}
		for i := range ns.all {
			vs := ns.all[i].Verdicts()
			if len(vs) != 2 {
				t.Fatalf("node %d holds %d verdicts", i, len(vs))
			}
			for _, v := range vs {
				ids[v.ID] = true
			}
		}
		stored, err := ns.wires[0].Verdicts(t.Context(), "search")
		if err != nil || len(stored) != 2 || len(ids) != 2 {
			t.Errorf("the nodes hold %v, the store %d: %v", ids, len(stored), err)
		}
	})
}

// featureVerdict is what a node called elsewhere has stored about work that has the
// feature.
func featureVerdict(id string, feature uint64) bezoar.Verdict {
	now := time.Now()
	return bezoar.Verdict{
		ID: id, Scope: bezoar.ScopeFeature, State: bezoar.Quarantined, Fingerprint: work(1).Fingerprint, Fleet: "search",
		Cause: bezoar.Crash, Reason: "all 3 have it", Level: 1, Since: now, Until: now.Add(time.Hour), Node: "elsewhere",
		Features: []string{"header X-Theme: neon"}, FeatureHashes: []uint64{feature}, Killers: 3, Successes: 32,
	}
}

// What killers have in common is refused on nodes that have seen none of them.
func TestFeaturesAreRefusedOnEveryNode(t *testing.T) {
	together(t, 2, func(ns *nodes) {
		const neon = 1<<63 + 7
		put := func(v bezoar.Verdict) {
			t.Helper()
			if err := ns.wires[0].Store.PutVerdict(t.Context(), v); err != nil {
				t.Fatal(err)
			}
		}
		put(featureVerdict("q-00000000000b", neon))
		ns.pass(follow)
		pill, innocent, elsewhere := of(1, 99, 5, neon), of(1, 98, 5), of(2, 99, 5, neon)
		for i, l := range ns.all {
			if _, d, _ := l.Admit(pill); d.Action != blame.Refuse || d.Cause != blame.ByFeatureVerdict {
				t.Errorf("node %d admits work with the feature: %+v", i, d)
			}
			for _, w := range []blame.Work{innocent, elsewhere} {
				tk, d, _ := l.Admit(w)
				if d.Action == blame.Refuse {
					t.Errorf("node %d refuses work without it, or of another fingerprint: %+v", i, d)
				}
				l.Close(tk, w.Fingerprint)
			}
			vs := l.Verdicts()
			if len(vs) != 1 || vs[0].Killers != 3 || vs[0].Successes != 32 || vs[0].Features[0] != "header X-Theme: neon" || len(vs[0].Why) == 0 {
				t.Errorf("node %d holds %+v", i, vs)
			}
		}
		// Of two verdicts on the same feature the one with the smaller id holds.
		put(featureVerdict("q-00000000000c", neon))
		put(featureVerdict("q-00000000000a", neon))
		ns.pass(2 * follow)
		for i, l := range ns.all {
			if vs := l.Verdicts(); len(vs) != 1 || vs[0].ID != "q-00000000000a" {
				t.Errorf("node %d holds %+v", i, vs)
			}
		}
		if _, err := ns.all[0].Release(t.Context(), "q-00000000000a"); err != nil {
			t.Fatal(err)
		}
		ns.pass(time.Minute)
		for i, l := range ns.all {
			tk, d, _ := l.Admit(pill)
			if d.Action == blame.Refuse {
				t.Errorf("after the release node %d refuses: %+v, it holds %+v", i, d, l.Verdicts())
				continue
			}
			l.Close(tk, pill.Fingerprint)
		}
	})
}

// Verdicts of every scope are back after a restart, with what enforces them.
func TestVerdictsOfEveryScopeAreRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t)
		now := time.Now()
		caller := bezoar.Fingerprint{0: 9, 1: 9}
		feature := featureVerdict("q-00000000000a", 7)
		feature.Fleet = "test"
		for _, v := range []bezoar.Verdict{
			feature,
			{ID: "q-00000000000b", Scope: bezoar.ScopeVariant, State: bezoar.Quarantined, Fingerprint: work(2).Fingerprint, Variant: traits{variant: 21}.Variant(), Until: now.Add(time.Hour)},
			{ID: "q-00000000000c", Scope: bezoar.ScopeWork, State: bezoar.Quarantined, Fingerprint: work(3).Fingerprint, Until: now.Add(time.Hour)},
			{ID: "q-00000000000d", Scope: bezoar.ScopeClient, State: bezoar.Laned, Fingerprint: caller, Pace: 0.25, Killers: 2},
		} {
			v.Fleet, v.Since = "test", now
			if err := st.PutVerdict(t.Context(), v); err != nil {
				t.Fatal(err)
			}
		}
		b := open(t, st, nil)
		for _, w := range []blame.Work{of(1, 1, 7), of(2, 21), of(3, 1), of(3, 2)} {
			if !b.refused(w) {
				t.Errorf("%v is not refused", w)
			}
		}
		for _, w := range []blame.Work{of(1, 1), of(2, 22)} {
			if b.refused(w) {
				t.Errorf("%v is refused", w)
			}
		}
		suspicious := of(4, 1)
		suspicious.Client = caller
		tk, d, _ := b.Admit(suspicious)
		if d.Action != blame.ToLane || d.Cause != blame.ByClient {
			t.Errorf("work of an escalated caller goes to %+v", d)
		}
		b.Close(tk, suspicious.Fingerprint)
		for _, v := range b.Verdicts() {
			if v.Scope == bezoar.ScopeClient && (v.Pace != 0.25 || v.Killers != 2) {
				t.Errorf("the caller's verdict is %+v", v)
			}
		}
	})
}

// The pace of a caller is written from time to time, so that a restart does not give
// it back what it has lost.
func TestThePaceOfACallerIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t)
		b := open(t, st, nil)
		for i := range byte(120) { // others run well
			w := of(100, i)
			w.Client = bezoar.Fingerprint{0: 200, 1: i % 8}
			tk, _, _ := b.Admit(w)
			b.lives++
			b.Opened(b.lives)
			b.Begin(time.Now(), tk, &w, b.lives, time.Time{}, false)
			b.Finish(time.Now(), tk, w.Fingerprint, blame.Survived)
		}
		time.Sleep(3 * time.Second) // of the bubble's time
		for i := range byte(6) {
			w := of(1+i, 1+i)
			w.Client = bezoar.Fingerprint{0: 9, 1: 9}
			for {
				tk, d, _ := b.Admit(w)
				if d.Action != blame.Pace {
					b.Close(tk, w.Fingerprint)
					break
				}
				time.Sleep(time.Until(d.Until) + time.Millisecond)
			}
			time.Sleep(5 * time.Minute) // longer than the slowest pace takes
			b.kill(w)
		}
		var pace float64
		for _, v := range b.Verdicts() {
			if v.Scope == bezoar.ScopeClient {
				pace = v.Pace
			}
		}
		if pace == 0 || pace >= 0.5 {
			t.Fatalf("the caller's pace is %g", pace)
		}
		time.Sleep(31 * time.Second) // a refresh
		synctest.Wait()
		vs, err := st.Verdicts(t.Context(), "test")
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range vs {
			if v.Scope == bezoar.ScopeClient && (v.Pace != pace || v.SidePace == 0) {
				t.Errorf("the store has the paces %g and %g, the ledger %g", v.Pace, v.SidePace, pace)
			}
		}
	})
}

// The copies that a variant's verdict refuses are written from time to time.
func TestRefusedCopiesOfAVariantAreStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t)
		b := open(t, st, nil)
		pill := of(1, 11)
		for !b.kill(pill) {
		}
		for range 5 {
			b.refused(pill)
		}
		time.Sleep(31 * time.Second) // of the bubble's time: a refresh
		synctest.Wait()
		vs, err := st.Verdicts(t.Context(), "test")
		if err != nil || len(vs) != 1 || vs[0].Refused != 5 || vs[0].Variant != pill.Traits.Variant() || len(vs[0].Evidence) == 0 {
			t.Errorf("the store has %+v, %v", vs, err)
		}
	})
}

// faulty traits panic, as a fault in what reads requests would.
type faulty struct{ blame.Traits }

func (faulty) Variant() bezoar.Fingerprint { panic("a fault") }

// Servers go on after a panic in a handler, and so does the ledger.
func TestPanicsHoldUpNobody(t *testing.T) {
	l, err := ledger.New(ledger.Config{Fleet: "test", Store: newStore(t)}) // nothing runs that would wait, too
	if err != nil {
		t.Fatal(err)
	}
	b := &rig{Ledger: l, t: t}
	b.kill(work(1))
	b.lives++
	b.Opened(b.lives)
	w := work(1)
	w.Traits = faulty{}
	other := w
	other.Fingerprint = work(2).Fingerprint
	abandoned, _, _ := b.Admit(other)
	b.Begin(time.Now(), abandoned, &other, b.lives, time.Time{}, false)
	for name, call := range map[string]func(){
		"Admit":     func() { b.Admit(w) },
		"Redrive":   func() { b.Redrive(w) },
		"Convicted": func() { b.Convicted(w) },
		"Refused":   func() { b.Refused(w, "/*", kept(1)) },
		"Conclude":  func() { b.Conclude(t.Context(), w, "/*", kept(1), true) },
		"Finish":    func() { b.Finish(time.Now(), abandoned, other.Fingerprint, blame.Abandoned) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s did not ask the traits", name)
				}
			}()
			call()
		}()
		went := make(chan struct{})
		go func() {
			defer close(went)
			b.Verdicts()
		}()
		select {
		case <-went:
		case <-time.After(10 * time.Second):
			t.Fatalf("after a panic in %s everybody waits", name)
		}
	}
}
