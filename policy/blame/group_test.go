package blame_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// convicts convicts n distinct works of a shape.
func (b *clock) convicts(shape, n uint64) {
	b.t.Helper()
	for i := range n {
		b.convict(work(1<<30+shape<<10+i, shape))
		b.well()
	}
}

func (b *clock) shape(n uint64) bezoar.State {
	v, _ := b.Lookup(&blame.Work{Shape: work(0, n).Shape})
	return v.State
}

func TestThreeConvictsOfOneShapeLaneIt(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	b.convicts(5, 2)
	if s := b.shape(5); s != "" {
		t.Fatalf("after two convicts the shape is %q", s)
	}
	b.convict(work(99, 5))
	if s := b.shape(5); s != bezoar.Laned {
		t.Fatalf("after three convicts the shape is %q", s)
	}
	tk, d := b.admit(work(100, 5))
	if d.Action != blame.ToLane || d.Cause != blame.ByShape || d.Overflow {
		t.Errorf("unproven work of the shape got %+v", d)
	}
	if a := b.action(work(100, 5)); a != blame.Duplicate {
		t.Errorf("a copy of it goes to %v", a)
	}
	b.Close(tk)
	if d := b.runs(work(101, 6)); d.Action != blame.ToFleet {
		t.Errorf("work of another shape goes to %v", d.Action)
	}
}

// One pill that fails its probes is one convict, however often.
func TestOnePillDoesNotLaneItsShape(t *testing.T) {
	rule := blame.Rule{For: time.Second, Max: time.Second}.WithDefaults()
	b := newState(t, blame.Config{Rule: rule})
	b.well()
	w := work(1, 5)
	b.convict(w)
	for range 5 {
		b.pass(2 * time.Second)
		b.kills(w)
	}
	if s := b.shape(5); s != "" {
		t.Errorf("the shape is %q", s)
	}
}

func TestAShapeThatMostlySucceedsIsNotLaned(t *testing.T) {
	b := newState(t, blame.Config{})
	for i := range uint64(3000) {
		b.runs(work(1000+i%50, 5))
		b.runs(work(2000+i%50, 6))
	}
	// A thousandth of it crashes, and a thousandth of everything else.
	for i := range uint64(3) {
		b.convict(work(i, 5))
		b.convict(work(10+i, 6))
	}
	if s := b.shape(5); s != "" {
		t.Errorf("a shape that crashes like everything else is %q", s)
	}
}

// An escalated shape is never refused. Its unproven work waits for its turn, half
// as often after each death, and twice as often after eight successes.
func TestDeathsHalveThePaceOfAShapeAndSuccessesDoubleIt(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	proven := work(7, 5)
	for range 10 {
		b.runs(proven)
	}
	b.convicts(5, 3)
	pace := func() float64 {
		v, _ := b.Lookup(&blame.Work{Shape: proven.Shape})
		return v.Pace
	}
	before := pace()
	if before != 0.25 { // the last convict died once more in the lane
		t.Fatalf("the shape runs at %v a second, want 0.25", before)
	}
	for i := range uint64(2) {
		b.kills(work(200+i, 5))
		if p := pace(); p != before/2 {
			t.Errorf("after death %d the pace is %v, want %v", i+1, p, before/2)
		}
		before = pace()
		_, d := b.Admit(b.now, work(300+i, 5))
		if d.Action != blame.Pace || d.Until.Sub(b.now) < 2*time.Second {
			t.Errorf("right after a death unproven work got %+v", d)
		}
		if d := b.runs(proven); d.Action != blame.ToFleet {
			t.Errorf("proven work of the shape goes to %v", d.Action)
		}
	}
	// Eight successes, and twice as many for each of its deaths but the first two.
	for i := range uint64(8 * 2) {
		if p := pace(); p != before {
			t.Errorf("after %d successes the pace is %v, want %v", i, p, before)
		}
		if d := b.runs(work(400+i, 5)); d.Action != blame.ToLane || d.Cause != blame.ByShape {
			t.Errorf("unproven work got %+v", d)
		}
	}
	if p := pace(); p != 2*before {
		t.Errorf("after all of them the pace is %v, want %v", p, 2*before)
	}
}

// A caller whose pills differ costs a bounded number of workers, however fast they
// come.
func TestUniquePillsOfOneCallerAreBounded(t *testing.T) {
	for _, rate := range []int{2, 10, 50} {
		b := newState(t, blame.Config{})
		for i := range uint64(200) {
			w := work(1000+i%20, 3)
			w.Client = fp(1<<42 + i%5)
			b.runs(w)
		}
		deaths := 0
		end := b.now.Add(time.Minute)
		for n := uint64(0); b.now.Before(end); n++ {
			w := work(1<<30+n, 5)
			w.Client = fp(1 << 41)
			tk, d := b.Admit(b.now, w)
			if d.Action != blame.Pace {
				e := b.servedLife()
				b.Begin(b.now, tk, e, time.Time{}, d.Action == blame.ToLane)
				b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
				b.Close(tk)
				deaths++
			}
			b.pass(time.Second / time.Duration(rate))
			for i := range uint64(100 / rate) {
				good := work(1000+i%20, 3)
				good.Client = fp(1<<42 + i%5)
				b.runs(good)
			}
		}
		if deaths > 10 {
			t.Errorf("%d pills a second cost %d workers in a minute, want at most 10", rate, deaths)
		}
	}
}

// Callers are not told apart, and each few pills have another shape at one endpoint:
// what a new shape may do is decided by the escalated one.
func TestPillsOfNewShapesAreBounded(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	for i := range 500 {
		b.runs(ask(fmt.Sprint("/page", i%7), "everybody"))
		b.pass(10 * time.Millisecond)
	}
	b.pass(2 * time.Second)
	endpoint := func(of, length int, value string) blame.Work {
		w := ask("/search?q="+value, "everybody")
		w.Shape = fp(hash(fmt.Sprint("shape ", of, length)))
		return w
	}
	popular := endpoint(1, 1, "popular")
	for range 20 {
		b.runs(popular)
	}
	b.pass(2 * time.Second)
	deaths := 0
	for n := range 600 {
		w := endpoint(2, n/5, fmt.Sprint("neon", n))
		tk, d := b.Admit(b.now, w)
		if d.Action != blame.Pace {
			e := b.servedLife()
			b.Begin(b.now, tk, e, time.Time{}, d.Action == blame.ToLane)
			b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
			b.Close(tk)
			deaths++
		}
		b.pass(100 * time.Millisecond)
		for i := range 5 {
			if d := b.runs(ask(fmt.Sprint("/page", i), "everybody")); d.Action != blame.ToFleet && d.Action != blame.ToCanary {
				t.Fatalf("after pill %d an innocent elsewhere goes to %v", n, d.Action)
			}
		}
		if d := b.runs(popular); d.Action == blame.Pace || d.Action == blame.Refuse {
			t.Fatalf("after pill %d what runs well at the endpoint got %v", n, d.Action)
		}
	}
	if deaths > 14 {
		t.Errorf("pills of new shapes cost %d workers in a minute, want at most 14", deaths)
	}
	// A shape that runs well is not answered for.
	other := endpoint(3, 0, "other")
	for range 4 {
		tk, d := b.Admit(b.now, other)
		for d.Action == blame.Pace {
			b.pass(d.Until.Sub(b.now))
			tk, d = b.Admit(b.now, other)
		}
		b.Begin(b.now, tk, b.servedLife(), time.Time{}, d.Action == blame.ToLane)
		b.pass(10 * time.Millisecond)
		b.End(b.now, tk, blame.Survived)
		b.Close(tk)
		b.pass(2 * time.Second)
	}
	other = endpoint(3, 0, "another")
	if tk, d := b.Admit(b.now, other); d.Action == blame.Pace || d.Action == blame.ToLane {
		t.Errorf("new work of a shape that runs well goes to %v", d.Action)
	} else {
		b.Close(tk)
	}
}

// A laned shape is free when it has been quiet since it last killed the lane.
func TestALanedShapeIsFreeAfterItsLastDeath(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	b.convicts(5, 3)
	b.pass(8 * time.Minute)
	b.kills(work(200, 5)) // once more in the lane
	b.pass(8 * time.Minute)
	if d := b.runs(work(300, 5)); d.Action != blame.ToLane {
		t.Errorf("eight minutes after the last death work goes to %v", d.Action)
	}
	b.pass(3 * time.Minute)
	if d := b.runs(work(301, 5)); d.Action == blame.ToLane || b.shape(5) != "" {
		t.Errorf("eleven minutes after it work goes to %v, the shape is %q", d.Action, b.shape(5))
	}
}

func TestAShapeThatNearlyAlwaysSucceedsIsNeverRefused(t *testing.T) {
	b := newState(t, blame.Config{})
	for i := range uint64(5000) {
		b.runs(work(1000+i, 5))
	}
	b.well()
	for i := range uint64(20) {
		b.convict(work(1<<30+i, 5))
		b.well()
		if a := b.action(work(1<<31+i, 5)); a == blame.Refuse {
			t.Fatalf("after %d pills an innocent of the shape is refused", i+1)
		}
	}
}

// A batch of suspects that dies is one death in the lane, not one for each.
func TestABatchThatDiesCountsOnceAgainstItsShape(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	var suspects []blame.Work
	for i := range uint64(6) {
		w := work(500+i, 5)
		for range 8 {
			b.runs(w)
		}
		suspects = append(suspects, w)
	}
	die := func(lane bool) {
		e := b.life()
		var tickets []blame.Ticket
		for _, w := range suspects {
			tk, _ := b.admit(w)
			b.Begin(b.now, tk, e, time.Time{}, lane)
			tickets = append(tickets, tk)
		}
		b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
		for _, tk := range tickets {
			if f, _ := b.Finding(tk); f.Convicted {
				t.Error("a batch convicted")
			}
			b.Close(tk)
		}
	}
	for range 8 {
		b.well()
	}
	b.convicts(5, 3)
	die(false)
	die(true)
	if s := b.shape(5); s != bezoar.Laned {
		t.Errorf("the shape is %q", s)
	}
}

func TestACallerIsLanedButNeverRefused(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	client := fp(1 << 41)
	pill := func(i uint64) blame.Work {
		w := work(1<<30+i, 100+i) // a shape each
		w.Client = client
		return w
	}
	for i := range uint64(3) {
		b.convict(pill(i))
		b.well()
	}
	for i := range uint64(10) {
		w := work(2000+i, 2000+i)
		w.Client = client
		tk, d := b.admit(w)
		if d.Action != blame.ToLane || d.Cause != blame.ByClient {
			t.Fatalf("after %d pills new work of the caller got %+v", 3+i, d)
		}
		b.Close(tk)
		b.convict(pill(10 + i))
		b.well()
	}
	if v, _ := b.Lookup(&blame.Work{Client: client}); v.Scope != bezoar.ScopeClient || v.State != bezoar.Laned || !v.Shape.IsZero() {
		t.Errorf("against the caller is held %+v", v)
	}
	other := work(3000, 3000)
	other.Client = fp(1<<41 + 1)
	if d := b.runs(other); d.Action != blame.ToFleet && d.Action != blame.ToCanary {
		t.Errorf("another caller's work goes to %v", d.Action)
	}
}

// With the table full of convicts the shape answers for what cannot be held.
func TestAFullTableLanesTheShape(t *testing.T) {
	b := newState(t, blame.Config{MaxCases: 16, Rule: blame.Rule{For: time.Hour}.WithDefaults()})
	b.well()
	for i := range uint64(16) {
		b.convict(work(i, 1000+i))
		b.well()
	}
	b.kills(work(100, 5))
	if s := b.shape(5); s != bezoar.Laned {
		t.Errorf("the shape is %q", s)
	}
	if _, d := b.admit(work(101, 5)); d.Action != blame.ToLane {
		t.Errorf("unproven work of it goes to %v", d.Action)
	}
}

func TestCanariesGoFirst(t *testing.T) {
	b := newState(t, blame.Config{CanaryMax: 2})
	if d := b.runs(work(1, 77)); d.Action != blame.ToFleet {
		t.Fatalf("while it learns, an unseen shape goes to %v", d.Action)
	}
	b.pass(time.Minute)
	var held []blame.Ticket
	for i := range uint64(4) {
		tk, d := b.admit(work(10+i, 10+i))
		if want := [...]blame.Action{blame.ToCanary, blame.ToCanary, blame.ToFleet, blame.ToFleet}[i]; d.Action != want {
			t.Errorf("unseen shape %d goes to %v, want %v", i, d.Action, want)
		}
		held = append(held, tk)
	}
	for _, tk := range held {
		b.Close(tk)
	}
	if n := b.Sizes().Canaries; n != 0 {
		t.Errorf("%d canaries are left", n)
	}
	for i := range uint64(4) {
		want := blame.ToCanary
		if i == 3 {
			want = blame.ToFleet
		}
		if d := b.runs(work(100+i, 50)); d.Action != want {
			t.Errorf("after %d successes of its shape work goes to %v", i, d.Action)
		}
	}
	if d := b.runs(blame.Work{Fingerprint: fp(500)}); d.Action != blame.ToFleet {
		t.Errorf("work without a shape goes to %v", d.Action)
	}
}
