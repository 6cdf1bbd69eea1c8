package blame_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// traits are those of a request with some header fields.
type traits struct {
	target string
	fields map[string]string
	caller string
}

func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

func (r *traits) each(f func(text string)) {
	f("caller " + r.caller)
	for name, value := range r.fields {
		f("header " + name + " present")
		f("header " + name + ": " + value)
	}
}

func (r *traits) Variant() bezoar.Fingerprint {
	var all []string
	r.each(func(text string) {
		if !strings.HasPrefix(text, "caller ") {
			all = append(all, text)
		}
	})
	slices.Sort(all)
	return fp(hash(r.target + strings.Join(all, "|")))
}

func (r *traits) Endpoint() bezoar.Fingerprint {
	path, _, _ := strings.Cut(r.target, "?")
	return fp(hash("endpoint " + path))
}

func (r *traits) Features(dst []uint64) []uint64 {
	r.each(func(text string) { dst = append(dst, hash(text)) })
	return dst
}

func (r *traits) Text(feature uint64) (found string) {
	r.each(func(text string) {
		if hash(text) == feature {
			found = text
		}
	})
	return found
}

// ask is a request of target by caller with fields "Name: value".
func ask(target, caller string, fields ...string) blame.Work {
	r := &traits{target: target, caller: caller, fields: map[string]string{"Accept": "*/*"}}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		r.fields[name] = value
	}
	path, _, _ := strings.Cut(target, "?")
	return blame.Work{Fingerprint: fp(hash(target)), Shape: fp(hash("shape" + path)), Client: fp(hash("client" + caller)), Traits: r}
}

// served lets n innocents of target run from different callers, in a fleet that has
// been serving them for a while.
func (b *clock) served(target string, n int) {
	b.t.Helper()
	for i := range n {
		b.runs(ask(target, fmt.Sprint("good", i%5)))
		b.pass(10 * time.Millisecond)
	}
	b.pass(2 * time.Second)
}

// A poisonous header on an address that nobody else asks for convicts that request
// and no other.
func TestAPoisonousHeaderConvictsItsVariantAlone(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	b.served("/home", 200)
	pill := ask("/rare", "evil", "X-Theme: neon")
	b.kills(pill)
	if _, f := b.kills(pill); !f.Convicted {
		t.Fatalf("alone in the lane it left %+v", f)
	}
	if a := b.action(pill); a != blame.Refuse {
		t.Errorf("its copy goes to %v", a)
	}
	v, _ := b.Lookup(&pill)
	if v.Scope != bezoar.ScopeVariant || v.Variant != pill.Traits.Variant() {
		t.Errorf("the verdict is %+v", v)
	}
	innocent := ask("/rare", "good1")
	if d := b.runs(innocent); d.Action != blame.ToLane {
		t.Errorf("before anything of it has succeeded another variant goes to %v", d.Action)
	}
	b.pass(2 * time.Second)
	for i := range 50 {
		if d := b.runs(ask("/rare", fmt.Sprint("good", i))); d.Action != blame.ToFleet && d.Action != blame.ToCanary {
			t.Fatalf("innocent %d goes to %v", i, d.Action)
		}
		b.pass(100 * time.Millisecond)
	}
}

// A different value each time: what the killers share is refused, and the address is
// served to everybody else.
func TestPillsThatShareAHeaderAreRefusedByIt(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	b.served("/home", 500)
	deaths, refused := 0, 0
	for i := range 60 {
		pill := ask("/home", "evil", fmt.Sprint("X-Theme: neon", i))
		for range 3 {
			tk, d := b.Admit(b.now, pill)
			if d.Action == blame.Pace {
				break
			}
			if d.Action == blame.Refuse {
				refused++
				break
			}
			e := b.servedLife()
			b.Begin(b.now, tk, e, time.Time{}, d.Action == blame.ToLane)
			b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
			b.Close(tk)
			deaths++
		}
		for j := range 25 {
			w := ask("/home", fmt.Sprint("good", j%5))
			if d := b.runs(w); d.Action == blame.Refuse {
				t.Fatalf("an innocent is refused after pill %d", i)
			}
			b.pass(20 * time.Millisecond)
		}
	}
	if deaths > 10 || refused == 0 {
		t.Errorf("60 pills with different values cost %d workers, and %d were refused; want at most 10", deaths, refused)
	}
	pill := ask("/home", "other", "X-Theme: neon")
	v, ok := b.Lookup(&pill)
	if ok && v.Scope == bezoar.ScopeFeature && !slices.Contains(v.Features, "header X-Theme present") {
		t.Errorf("the verdict about features is %+v", v)
	}
	// A success that has the feature ends the verdict.
	for _, v := range b.Verdicts(b.now) {
		if v.Scope == bezoar.ScopeFeature && len(v.Why) == 0 {
			t.Errorf("verdict %s is not explained", v.ID)
		}
	}
}

// Pills of one shape with a header do not have innocents of that shape refused.
func TestAShapeCannotBeFramed(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	for i := range 100 {
		b.runs(ask(fmt.Sprint("/search?q=", i), fmt.Sprint("good", i%5)))
		b.pass(10 * time.Millisecond)
	}
	b.pass(2 * time.Second)
	deaths := 0
	for i := range 5 {
		pill := ask(fmt.Sprint("/search?q=7", i), "evil", "X-Theme: neon")
		for {
			tk, d := b.Admit(b.now, pill)
			if d.Action == blame.Pace {
				b.pass(d.Until.Sub(b.now))
				continue
			}
			if d.Action == blame.Refuse {
				break
			}
			e := b.servedLife()
			b.Begin(b.now, tk, e, time.Time{}, d.Action == blame.ToLane)
			b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})

			b.Close(tk)
			deaths++
		}
		for j := range 30 {
			w := ask(fmt.Sprint("/search?q=", 1000*i+j), fmt.Sprint("good", j%5))
			_, d := b.Admit(b.now, w)
			if d.Action == blame.Refuse || d.Action == blame.Pace {
				t.Fatalf("after pill %d an innocent of the shape got %+v", i+1, d)
			}
			b.runs(ask(fmt.Sprint("/search?q=x", 1000*i+j), fmt.Sprint("good", j%5)))
			b.pass(50 * time.Millisecond)
		}
	}
	if deaths > 6 {
		t.Errorf("5 pills cost %d workers, want at most 6", deaths)
	}
}

// What kills a moment after its answer is revoked its success, is tried alone with
// the time behind it kept free, and convicted.
func TestAKillerAfterItsAnswerIsConvicted(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	b.served("/home", 200)
	deaths, innocents := 0, 0
	convicted := false
	for range 20 {
		pill := ask("/late", "evil")
		tk, d := b.Admit(b.now, pill)
		if d.Action == blame.Refuse {
			convicted = true
			break
		}
		if d.Action == blame.Pace {
			b.pass(d.Until.Sub(b.now))
			continue
		}
		e := b.life()
		gt, gd := b.Admit(b.now, ask("/item", "good1"))
		lane := d.Action == blame.ToLane
		b.Begin(b.now, tk, e, time.Time{}, lane)
		b.now = b.now.Add(2 * time.Millisecond)
		b.End(b.now, tk, blame.Survived)
		b.Close(tk)
		if lane && d.Window < time.Second {
			t.Fatalf("in the lane the time behind its answer is not kept free: %+v", d)
		}
		beside := !lane && gd.Action == blame.ToFleet
		if beside {
			b.Begin(b.now, gt, e, time.Time{}, false)
		}
		b.now = b.now.Add(5 * time.Millisecond)
		b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
		deaths++
		if beside {
			if f, ok := b.Finding(gt); ok && f.Convicted {
				innocents++
			}
		}
		if gd.Action <= blame.ToLane {
			b.Close(gt)
		}
		b.pass(500 * time.Millisecond)
	}
	if !convicted || deaths > 8 || innocents > 0 {
		t.Errorf("convicted %v after %d deaths; %d innocents were", convicted, deaths, innocents)
	}
}

// An innocent that dies alone in the lane, just after something else was answered
// there, is not convicted: it runs again, on a clean worker.
func TestNobodyIsConvictedOnATaintedWorker(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	innocent, killer := ask("/innocent", "good1"), ask("/late", "evil")
	answered := func() uint64 { // a worker on which the killer has just been answered
		e := b.life()
		kt, _ := b.admit(killer)
		b.Begin(b.now, kt, e, time.Time{}, false)
		b.End(b.now, kt, blame.Survived)
		b.Close(kt)
		return e
	}
	b.killsOn(answered(), innocent) // in the fleet: the killer's doing
	e := answered()
	b.now = b.now.Add(100 * time.Millisecond)
	tk, d := b.admit(innocent)
	if d.Action != blame.ToLane {
		t.Fatalf("a suspect goes to %v", d.Action)
	}
	b.Begin(b.now, tk, e, time.Time{}, true)
	b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
	f, _ := b.Finding(tk)
	b.Close(tk)
	if f.Convicted || !f.Company || !f.Alone {
		t.Errorf("on a tainted worker it left %+v", f)
	}
	_, d = b.admit(innocent)
	if d.Action != blame.ToLane || !d.Clean || d.Quiet < time.Second {
		t.Errorf("its next run got %+v, want one on a clean worker", d)
	}
	if _, d := b.admit(killer); d.Action != blame.ToLane || d.Window == 0 {
		t.Errorf("what was answered there got %+v, want the lane with time behind it", d)
	}
}

// Three variants of two callers that killed alone, and nobody whose request
// succeeded: the fingerprint is refused as a whole, and another caller's copy is the
// probe. A success in memory prevents it.
func TestAFingerprintIsRefusedAsAWholeOnlyWhenNobodyUsesIt(t *testing.T) {
	for _, used := range []bool{false, true} {
		b := newState(t, blame.Config{Window: time.Second})
		b.served("/home", 200)
		for i := range 4 {
			if used && i > 0 {
				b.runs(ask("/crash", "good1"))
				b.pass(2 * time.Second)
			}
			w := ask("/crash", fmt.Sprint("caller", i), fmt.Sprint("User-Agent: browser ", i))
			for range 3 {
				if a := b.action(w); a == blame.Refuse {
					break
				}
				b.kills(w)
			}
		}
		other := ask("/crash", "caller9", "User-Agent: browser 9")
		v, held := b.Lookup(&other)
		if refused := held && v.State == bezoar.Quarantined; refused == used {
			t.Errorf("with successes %v a new variant is refused: %v (%+v)", used, refused, v)
		}
		if used {
			continue
		}
		b.pass(v.Until.Sub(b.now) + time.Second)
		if a := b.action(ask("/crash", "caller1", "User-Agent: another")); a != blame.Refuse {
			t.Errorf("a killer's own caller may probe: %v", a)
		}
		if d := b.runs(other); d.Cause != blame.ByProbe {
			t.Errorf("another caller's copy got %+v", d)
		}
		b.pass(2 * time.Second)
		if a := b.action(ask("/crash", "caller10", "User-Agent: browser 10")); a == blame.Refuse {
			t.Error("after a clean probe it is still refused")
		}
	}
}

// A delay longer than the window: deaths go unexplained, what was answered before
// each of them becomes suspect, and is tried with time behind it.
func TestAKillerSecondsAfterItsAnswerIsFound(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	b.served("/home", 400)
	type bomb struct {
		epoch uint64
		at    time.Time
	}
	var bombs []bomb
	deaths, wrong, n := 0, 0, 0
	found := false
	worker := b.life()
	for step := range 600 { // a minute
		b.pass(100 * time.Millisecond)
		for len(bombs) > 0 && !b.now.Before(bombs[0].at) {
			e := bombs[0].epoch
			bombs = bombs[1:]
			w := ask(fmt.Sprint("/item/", n), fmt.Sprint("good", n%5))
			n++
			tk, d := b.Admit(b.now, w)
			if d.Action == blame.Refuse {
				wrong++
				continue
			}
			if !b.Begin(b.now, tk, e, time.Time{}, d.Action == blame.ToLane) {
				b.Close(tk)
				continue // that life is over
			}
			b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
			deaths++
			f, _ := b.Finding(tk)
			if f.Convicted {
				wrong++
			}
			b.Close(tk)
			if tk, d := b.Admit(b.now, w); d.Action == blame.ToLane { // it runs clean alone
				lane := b.life()
				b.Begin(b.now, tk, lane, time.Time{}, true)
				b.End(b.now, tk, blame.Survived)
				b.Close(tk)
			}
			worker = b.life()
		}
		if step%5 == 0 && !found {
			pill := ask("/delayed", "evil")
			tk, d := b.Admit(b.now, pill)
			switch d.Action {
			case blame.Refuse:
				found = true
			case blame.ToLane:
				if d.Window >= 2*time.Second { // its worker is watched long enough
					e := b.life()
					b.Begin(b.now, tk, e, time.Time{}, true)
					b.End(b.now, tk, blame.Survived)
					b.Close(tk)
					b.pass(2 * time.Second)
					b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
					deaths++
					continue
				}
				fallthrough
			case blame.ToFleet, blame.ToCanary:
				b.Begin(b.now, tk, worker, time.Time{}, d.Action == blame.ToLane)
				b.End(b.now, tk, blame.Survived)
				bombs = append(bombs, bomb{worker, b.now.Add(2 * time.Second)})
				b.Close(tk)
			}
		}
		for range 5 {
			b.runsOn(worker, ask("/home", fmt.Sprint("good", n%5)))
		}
	}
	if !found || deaths > 8 || wrong > 0 {
		t.Errorf("found %v after %d deaths, %d innocents convicted", found, deaths, wrong)
	}
}

// runsOn lets w run clean on a worker that others use, too.
func (b *clock) runsOn(e uint64, w blame.Work) {
	b.t.Helper()
	t, d := b.Admit(b.now, w)
	if d.Action == blame.Refuse {
		b.t.Fatalf("an innocent was refused: %+v", d)
	}
	if d.Action == blame.Duplicate || d.Action == blame.Pace {
		return
	}
	if d.Action == blame.ToLane {
		e = b.life()
	}
	b.Begin(b.now, t, e, time.Time{}, d.Action == blame.ToLane)
	b.End(b.now, t, blame.Survived)
	b.Close(t)
}

// fleeting are traits that must not be asked once their request is gone.
type fleeting struct {
	traits
	gone bool
	t    *testing.T
}

func (r *fleeting) Variant() bezoar.Fingerprint {
	if r.gone {
		r.t.Error("traits are asked after their request is gone")
	}
	return r.traits.Variant()
}

func (r *fleeting) Endpoint() bezoar.Fingerprint {
	if r.gone {
		r.t.Error("traits are asked after their request is gone")
	}
	return r.traits.Endpoint()
}

func (r *fleeting) Features(dst []uint64) []uint64 {
	if r.gone {
		r.t.Error("traits are asked after their request is gone")
	}
	return r.traits.Features(dst)
}

// Traits are asked only while their ticket is open, whatever becomes of the work.
func TestTraitsAreNotAskedAfterTheirTicketIsClosed(t *testing.T) {
	for _, result := range []blame.Result{blame.Survived, blame.Unsent, blame.Faulted, blame.TimedOut, blame.Abandoned} {
		b := newState(t, blame.Config{Window: time.Second})
		b.served("/home", 50)
		b.kills(ask("/other", "evil", "X-Theme: neon"))
		r := &fleeting{traits: traits{target: "/x", caller: "c", fields: map[string]string{"X-Theme": "neon"}}, t: t}
		w := blame.Work{Fingerprint: fp(77), Shape: fp(78), Client: fp(79), Traits: r}
		e := b.life()
		tk, d := b.admit(w)
		b.Begin(b.now, tk, e, time.Time{}, d.Action == blame.ToLane)
		b.End(b.now, tk, result)
		b.Close(tk)
		r.gone = true
		b.now = b.now.Add(50 * time.Millisecond)
		b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
		b.pass(5 * time.Second)
		b.Verdicts(b.now)
	}
}

// Three pills of two callers at one moment, on the home page, whose shape is nothing
// but the home page: they do not have everybody else wait for the pace of that shape.
func TestTheHomePageIsNotPacedForItsShape(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	b.served("/", 300)
	for i := range 3 {
		pill := ask("/", fmt.Sprint("evil", i%2), fmt.Sprint("X-Theme: neon", i))
		tk, d := b.Admit(b.now, pill)
		if d.Action == blame.Pace || d.Action == blame.Refuse {
			continue
		}
		e := b.servedLife()
		b.Begin(b.now, tk, e, time.Time{}, d.Action == blame.ToLane)
		b.Crash(b.now, e, false, bezoar.Evidence{Worker: fmt.Sprint("w", i), Class: bezoar.Crash})
		b.Close(tk)
	}
	for i := range 50 {
		if d := b.runs(ask("/", fmt.Sprint("good", i%5))); d.Action == blame.Pace {
			t.Fatalf("innocent %d of the home page waits for a pace: %+v", i, d)
		}
		b.pass(20 * time.Millisecond)
	}
}
