package breaker_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/policy/breaker"
)

func drawTime(t *rapid.T, label string) time.Time {
	s := rapid.IntRange(0, 3).Draw(t, label)
	if s == 0 {
		return time.Time{}
	}
	return start.Add(time.Duration(s) * time.Second)
}

func drawSnapshot(t *rapid.T) breaker.Snapshot {
	return breaker.Snapshot{
		Generation: rapid.Uint64Range(0, 3).Draw(t, "generation"),
		State:      breaker.State(rapid.IntRange(0, 2).Draw(t, "state")),
		Until:      drawTime(t, "until"),
		Level:      rapid.Byte().Draw(t, "level"),
		Node:       rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "node"),
		Reason:     rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "reason"),
		Forced: breaker.Forced{
			Serial: rapid.Uint64Range(0, 2).Draw(t, "serial"),
			State:  rapid.SampledFrom([]breaker.State{breaker.Closed, breaker.Open}).Draw(t, "forced"),
			Until:  drawTime(t, "forced until"),
			By:     rapid.SampledFrom([]string{"", "ann"}).Draw(t, "by"),
		},
	}
}

// Snapshots may be lost, repeated and reordered: who has seen the same ones
// agrees, and what was seen before is no news.
func TestMergingIsCommutativeAndIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(drawSnapshot), 1, 6).Draw(t, "snapshots")
		order := rapid.Permutation(all).Draw(t, "order")
		var a, b breaker.Breaker
		for i := range all {
			a.Merge(start, all[i])
			b.Merge(start, order[i])
			if rapid.Bool().Draw(t, "again") {
				b.Merge(start, order[rapid.IntRange(0, i).Draw(t, "which")])
			}
		}
		if a.Snapshot() != b.Snapshot() {
			t.Fatalf("%+v and %+v", a.Snapshot(), b.Snapshot())
		}
		for _, s := range all {
			if a.Merge(start, s) {
				t.Fatalf("%+v is news again", s)
			}
		}
		if a.Merge(start, b.Snapshot()) {
			t.Fatal("its own state is news")
		}
	})
}

func TestASnapshotSurvivesJSON(t *testing.T) {
	r := tripped(t, breaker.Config{})
	r.now = time.Now() // with a zone and a monotonic clock
	if err := r.Force(r.now, breaker.Open, r.now.Add(time.Hour), "ann\xff"+strings.Repeat("!", 1000)); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	var back breaker.Snapshot
	if err := json.Unmarshal(text, &back); err != nil || back != r.Snapshot() {
		t.Errorf("%s is read as %+v (%v), want %+v", text, back, err, r.Snapshot())
	}
	if !strings.Contains(string(text), `"generation":1,"state":"open","until":"1970-`) {
		t.Errorf("it is written %s", text)
	}
	if err := json.Unmarshal([]byte(`{"state":"ajar"}`), &back); err == nil {
		t.Error("a breaker ajar is read without an error")
	}
	if text, _ := json.Marshal(breaker.Snapshot{}); string(text) != `{"generation":0,"state":"closed","level":0}` {
		t.Errorf("a new breaker is written %s", text)
	}
}

func TestANewerGenerationWins(t *testing.T) {
	a, b := tripped(t, breaker.Config{Node: "a"}), newRig(t, breaker.Config{Node: "b"})
	inFlight, _ := b.allowed()
	if !b.Merge(b.now, a.Snapshot()) {
		t.Fatal("a trip is no news")
	}
	if d := b.refused(); !strings.Contains(d.Reason, "2 calls in a row failed") || d.RetryAfter != 5*time.Second {
		t.Errorf("got %+v", d)
	}
	if b.Done(b.now, inFlight, failed, 0) {
		t.Error("what was in flight before the other's trip changed it")
	}
	b.pass(5 * time.Second)
	b.calls(1, good)
	b.calls(2, good)
	if a.Merge(b.now, b.Snapshot()); a.State(b.now) != breaker.Closed {
		t.Errorf("recovery did not travel: %+v", a.Snapshot())
	}
	if err := a.Force(a.now, breaker.Open, b.now.Add(time.Hour), "ann"); err != nil {
		t.Fatal(err)
	}
	b.Merge(b.now, a.Snapshot())
	if d := b.refused(); !strings.Contains(d.Reason, "by ann") {
		t.Errorf("got %+v", d)
	}
	if err := b.Force(b.now, breaker.Open, time.Time{}, ""); err != nil {
		t.Fatal(err)
	}
	a.Merge(b.now, b.Snapshot())
	a.now = b.now
	a.wantState(breaker.Closed)
}

// Two nodes that left half-open in different directions agree on the safe one.
func TestInOneGenerationOpenWins(t *testing.T) {
	at := func(s breaker.State, until time.Duration) breaker.Snapshot {
		return breaker.Snapshot{Generation: 3, State: s, Until: start.UTC().Add(until)}
	}
	var b breaker.Breaker
	for _, s := range []breaker.Snapshot{at(breaker.Closed, 3*time.Minute), at(breaker.HalfOpen, 2*time.Minute), at(breaker.Open, time.Minute)} {
		if !b.Merge(start, s) || b.Snapshot() != s {
			t.Errorf("%+v did not win over what is less safe", s)
		}
	}
}

// A snapshot of a node whose clock is a year ahead refuses for MaxOpen.
func TestAForeignClockDoesNotKeepItOpen(t *testing.T) {
	r := newRig(t, breaker.Config{})
	far := breaker.Snapshot{Generation: 7, State: breaker.Open, Until: start.AddDate(1, 0, 0), Level: 255, Reason: "x"}
	r.Merge(r.now, far)
	for range 10 { // it is told again and again
		r.Merge(r.now, far)
		r.refused()
		r.pass(30 * time.Second)
	}
	tk, d := r.allowed()
	if !d.Probe {
		t.Errorf("got %+v", d)
	}
	r.Done(r.now, tk, failed, 0)
	if s := r.Snapshot(); s.Level < 63 || r.refused().RetryAfter != 5*time.Minute {
		t.Errorf("the level has run over: %+v", s)
	}
}

// store is what several processes share: one row with a version.
type store struct {
	row     breaker.Snapshot
	version int
}

func (s *store) swap(version int, next breaker.Snapshot) bool {
	if version != s.version {
		return false
	}
	s.row, s.version = next, s.version+1
	return true
}

// node is one process: a breaker and the version that it saw last.
type node struct {
	rig
	seen  int
	calls []sent
}

func (n *node) sync(s *store) {
	n.Merge(n.now, s.row)
	n.seen = s.version
	if mine := n.Snapshot(); mine != s.row && !s.swap(n.seen, mine) {
		panic("nobody was between")
	}
	n.seen = s.version
}

// allow asks as doc.go says.
func (n *node) allow(s *store) (breaker.Ticket, breaker.Decision) {
	t, d := n.Allow(n.now)
	for d.Probe && d.Changed && !s.swap(n.seen, n.Snapshot()) {
		n.Concede(n.now, t, s.row)
		n.seen = s.version
		t, d = n.Allow(n.now)
	}
	if d.Probe && d.Changed {
		n.seen = s.version
	}
	return t, d
}

// Nodes that synchronise when they like: of one lease only its holder sends
// probes, never more than Probes, and in the end all agree.
func TestOnlyTheHolderOfTheLeaseProbes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const probes = 2
		s := &store{}
		nodes := make([]*node, 3)
		for i := range nodes {
			nodes[i] = &node{rig: rig{Breaker: breaker.Breaker{Config: breaker.Config{
				Consecutive: 2, Probes: probes, Open: time.Second, MaxOpen: 4 * time.Second, ProbeFor: 5 * time.Second, Node: string(rune('a' + i)),
			}}, now: start}}
		}
		pick := func(t *rapid.T) *node { return nodes[rapid.IntRange(0, len(nodes)-1).Draw(t, "node")] }
		holder, out := map[uint64]string{}, map[uint64]int{}
		t.Repeat(map[string]func(*rapid.T){
			"allow": func(t *rapid.T) {
				n := pick(t)
				tk, d := n.allow(s)
				if !d.Allowed {
					return
				}
				g := n.Snapshot().Generation
				if d.Probe {
					if h, ok := holder[g]; ok && h != n.Config.Node {
						t.Fatalf("%s and %s probe in generation %d", h, n.Config.Node, g)
					}
					holder[g] = n.Config.Node
					if out[g]++; out[g] > probes {
						t.Fatalf("%d probes in generation %d", out[g], g)
					}
				}
				n.calls = append(n.calls, sent{tk, g, d.Probe})
			},
			"done": func(t *rapid.T) {
				n := pick(t)
				if len(n.calls) == 0 {
					return
				}
				call, r := n.calls[0], drawResult(t)
				n.calls = n.calls[1:]
				if call.probe && r.Ignored {
					out[call.generation]--
				}
				if n.Done(n.now, call.ticket, r, 0.5) && rapid.Bool().Draw(t, "tells") {
					n.sync(s)
				}
			},
			"sync": func(t *rapid.T) { pick(t).sync(s) },
			"pass": func(t *rapid.T) {
				d := time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond
				for _, n := range nodes {
					n.pass(d)
				}
			},
		})
		for range 2 {
			for _, n := range nodes {
				n.sync(s)
			}
		}
		for _, n := range nodes {
			if n.Snapshot() != s.row {
				t.Fatalf("%s has %+v, the store %+v", n.Config.Node, n.Snapshot(), s.row)
			}
		}
	})
}

func TestALeaseOfADeadHolderPassesOn(t *testing.T) {
	a, b := tripped(t, breaker.Config{Node: "a"}), newRig(t, breaker.Config{Node: "b"})
	a.pass(5 * time.Second)
	a.allowed()
	if d := a.refused(); !strings.Contains(d.Reason, "at most 3") {
		t.Errorf("while the claim is on its way a second call got %+v", d)
	}
	b.now = a.now
	b.Merge(b.now, a.Snapshot())
	if d := b.refused(); !strings.Contains(d.Reason, `node "a" is testing it`) || d.RetryAfter != 5*time.Second {
		t.Errorf("got %+v", d)
	}
	b.pass(30 * time.Second)
	if _, d := b.allowed(); !d.Probe || !d.Changed {
		t.Errorf("got %+v", d)
	}
	if s := b.Snapshot(); s.Level != 1 || s.Node != "b" {
		t.Errorf("the lease passed on as %+v", s)
	}
}

func TestWhoConcedesIsWhereItWas(t *testing.T) {
	a, b := tripped(t, breaker.Config{Node: "a"}), newRig(t, breaker.Config{Node: "b"})
	b.Merge(b.now, a.Snapshot())
	open := a.Snapshot()
	for _, r := range []*rig{a, b} {
		r.pass(5 * time.Second)
	}
	b.allowed()
	lost, _ := a.allowed()
	a.Concede(a.now, lost, b.Snapshot())
	if a.Snapshot() != b.Snapshot() {
		t.Errorf("after conceding it has %+v, want %+v", a.Snapshot(), b.Snapshot())
	}
	a.refused()
	if a.Done(a.now, lost, good, 0) {
		t.Error("the conceded ticket changed the state")
	}

	// The store was ahead with an override alone: the claim may be tried again.
	c := newRig(t, breaker.Config{Node: "c"})
	c.Merge(c.now, open)
	c.pass(5 * time.Second)
	lost, _ = c.allowed()
	open.Forced = breaker.Forced{Serial: 1}
	c.Concede(c.now, lost, open)
	if c.Snapshot() != open {
		t.Errorf("after conceding it has %+v, want %+v", c.Snapshot(), open)
	}
	if _, d := c.allowed(); !d.Probe || !d.Changed {
		t.Errorf("the second claim got %+v", d)
	}
}
