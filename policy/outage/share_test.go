package outage_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/policy/outage"
)

func drawSnapshot(t *rapid.T) outage.Snapshot {
	s := outage.Snapshot{
		Generation: rapid.Uint64Range(0, 3).Draw(t, "generation"),
		State:      outage.State(rapid.IntRange(0, 2).Draw(t, "state")),
		Level:      rapid.Byte().Draw(t, "level"),
		Failure:    rapid.SampledFrom([]string{"", "x", "y\xff"}).Draw(t, "failure"),
		Why:        rapid.SampledFrom([]string{"", "x", strings.Repeat("y", 300)}).Draw(t, "why"),
	}
	if at := rapid.IntRange(0, 3).Draw(t, "until"); at > 0 {
		s.Until = start.Add(time.Duration(at) * time.Second)
	}
	return s
}

func TestMergingIsCommutativeAndIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(drawSnapshot), 1, 6).Draw(t, "snapshots")
		var a, b outage.Guard
		for i, s := range rapid.Permutation(all).Draw(t, "order") {
			a.Merge(start, all[i])
			b.Merge(start, s)
		}
		if a.Snapshot() != b.Snapshot() {
			t.Fatalf("%+v and %+v", a.Snapshot(), b.Snapshot())
		}
		for _, s := range append(all, b.Snapshot()) {
			if a.Merge(start, s) {
				t.Fatalf("%+v is news again", s)
			}
		}
	})
}

func TestInOneGenerationPausedWins(t *testing.T) {
	var g outage.Guard
	for i, state := range []outage.State{outage.Running, outage.Trying, outage.Paused} {
		s := outage.Snapshot{Generation: 3, State: state, Until: start.UTC().Add(-time.Duration(i) * time.Minute)}
		if !g.Merge(start, s) || g.Snapshot() != s {
			t.Errorf("%+v did not win over what is less safe", s)
		}
	}
}

func TestASnapshotSurvivesJSON(t *testing.T) {
	var g outage.Guard
	if fail(&g, time.Now(), "down \xff"+strings.Repeat("…", 200), 0, 5) == nil {
		t.Fatal("no trip")
	}
	text, err := json.Marshal(g.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	var back outage.Snapshot
	if err := json.Unmarshal(text, &back); err != nil || back != g.Snapshot() || len(back.Failure) > 256 {
		t.Errorf("%s is read as %+v (%v), want %+v", text, back, err, g.Snapshot())
	}
	if g.Merge(start, back) {
		t.Error("its own state is news")
	}
	if !g.Excuses("down \xff" + strings.Repeat("…", 200)) {
		t.Error("the failure it tripped over is not excused")
	}
	if err := json.Unmarshal([]byte(`{"state":"asleep"}`), &back); err == nil {
		t.Error("a guard asleep is read without an error")
	}
	if text, _ := json.Marshal(outage.Snapshot{}); string(text) != `{"generation":0,"state":"running","level":0}` {
		t.Errorf("a new guard is written %s", text)
	}
}

func TestAForeignClockDoesNotKeepItPaused(t *testing.T) {
	var g outage.Guard
	far := outage.Snapshot{Generation: 7, State: outage.Paused, Until: start.AddDate(1, 0, 0), Level: 255, Failure: "down"}
	now := start
	g.Merge(now, far)
	if p, _ := g.Paused(); p.Until.Sub(now) != 10*time.Minute {
		t.Errorf("it is paused until %v", p.Until)
	}
	for range 10 { // it is told again and again
		g.Merge(now, far)
		if _, ok := g.Canary(now); ok {
			t.Fatal("a canary during the pause")
		}
		now = now.Add(time.Minute)
	}
	g.Returned(now, canary(t, &g, now), outage.Failed, "")
	if p, _ := g.Paused(); p.Until.Sub(now) != 10*time.Minute {
		t.Errorf("the next pause is %+v", p)
	}
}

// store is what several processes share: one row with a version.
type store struct {
	row     outage.Snapshot
	version int
}

func (s *store) swap(version int, next outage.Snapshot) bool {
	if version != s.version {
		return false
	}
	s.row, s.version = next, s.version+1
	return true
}

// node is one process: a guard and the version that it saw last.
type node struct {
	outage.Guard
	seen int
}

func (n *node) sync(now time.Time, s *store) {
	n.Merge(now, s.row)
	if mine := n.Snapshot(); mine != s.row {
		s.swap(s.version, mine)
	}
	n.seen = s.version
}

// Processes that synchronise when they like: of one generation one canary goes
// out, none while the last one that was stored has time, its result counts
// wherever it comes back, and in the end all agree.
func TestOneCanaryAmongAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, now := &store{}, start
		nodes := []*node{{}, {}, {}}
		pick := func(t *rapid.T) *node { return nodes[rapid.IntRange(0, len(nodes)-1).Draw(t, "node")] }
		given, last := map[uint64]bool{}, uint64(0)
		t.Repeat(map[string]func(*rapid.T){
			"fail": func(t *rapid.T) {
				n := pick(t)
				if fail(&n.Guard, now, "down", 0, 5) != nil {
					n.sync(now, s)
				}
			},
			"canary": func(t *rapid.T) {
				n := pick(t)
				generation, ok := n.Canary(now)
				if !ok {
					return
				}
				if !s.swap(n.seen, n.Snapshot()) {
					n.Concede(now, generation, s.row)
					n.seen = s.version
					if n.Snapshot().Generation == generation && n.Snapshot() != s.row {
						t.Fatalf("it kept %+v, the store has %+v", n.Snapshot(), s.row)
					}
					return
				}
				n.seen = s.version
				if given[generation] {
					t.Fatalf("two canaries of generation %d", generation)
				}
				given[generation], last = true, generation
			},
			"returned": func(t *rapid.T) {
				if last == 0 {
					return
				}
				n := pick(t)
				n.sync(now, s)
				r := outage.Result(rapid.IntRange(0, 2).Draw(t, "result"))
				was := n.Snapshot()
				changed := n.Returned(now, last, r, "down")
				if want := was.State == outage.Trying && was.Generation == last; changed != want {
					t.Fatalf("the canary of %d changed %+v: %v", last, was, changed)
				}
				n.sync(now, s)
			},
			"sync": func(t *rapid.T) { pick(t).sync(now, s) },
			"pass": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "seconds")) * time.Second)
			},
		})
		for range 2 {
			for _, n := range nodes {
				n.sync(now, s)
			}
		}
		for i, n := range nodes {
			if n.Snapshot() != s.row {
				t.Fatalf("node %d has %+v, the store %+v", i, n.Snapshot(), s.row)
			}
		}
	})
}
