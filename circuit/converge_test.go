package circuit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

// fleet are nodes that run until stop.
func fleet(t *testing.T, s *shelf, n int, change ...func(*circuit.Config)) (nodes []*node, stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range n {
		x := newNode(t, s, string(rune('a'+i)), change...)
		all.Go(func() { _ = x.Run(ctx) }) // is nil; see node.run
		nodes = append(nodes, x)
	}
	return nodes, func() { cancel(); all.Wait() }
}

// chance is randomness that several goroutines may use, from a seed that rapid
// chose.
type chance struct {
	mu sync.Mutex
	*rand.Rand
}

func newChance(t *rapid.T) *chance {
	return &chance{Rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))}
}

func (c *chance) upTo(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.IntN(n)
}

// faults fails, loses and delays a share of what a node asks the store for.
func (c *chance) faults(string) (lost bool, delay time.Duration, err error) {
	delay = time.Duration(c.upTo(200)) * time.Millisecond
	switch c.upTo(6) {
	case 0:
		err = errDown
	case 1:
		return true, 0, errDown // done, but nobody says so
	case 2:
		return true, time.Hour, nil // done when nobody waits any more
	case 3:
		delay = 0
	}
	return false, delay, err
}

// step is one thing that happens to a node.
type step struct {
	what string
	node int
	n    int // how long, how often
	yes  bool
}

func steps() *rapid.Generator[[]step] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{
			what: rapid.SampledFrom([]string{"fail", "fail", "succeed", "force", "faults", "cut", "mend", "expire", "pass", "pass"}).Draw(t, "what"),
			node: rapid.IntRange(0, 2).Draw(t, "node"),
			n:    rapid.IntRange(0, 8).Draw(t, "n"),
			yes:  rapid.Bool().Draw(t, "yes"),
		}
	}), 1, 40)
}

// play has a script happen to nodes.
func play(nodes []*node, script []step, luck *chance) {
	var out sync.WaitGroup
	defer out.Wait()
	for _, x := range script {
		n := nodes[x.node%len(nodes)]
		switch x.what {
		case "fail", "succeed":
			for range x.n {
				out.Go(func() {
					if tk, d := n.allow(); d.Allowed {
						time.Sleep(time.Duration(luck.upTo(3000)) * time.Millisecond)
						n.b.Done(time.Now(), tk, breaker.Result{Failed: x.what == "fail", Ignored: x.yes && luck.upTo(2) == 0})
					}
				})
			}
		case "force":
			state := breaker.Closed
			if x.yes {
				state = breaker.Open
			}
			out.Go(func() { _ = n.Force(n.Context(), name, state, time.Now().Add(time.Duration(x.n-1)*time.Second), "ann") }) // the store may be down
		case "faults":
			n.view.setFault(luck.faults)
		case "cut":
			n.view.cut()
		case "mend":
			n.view.mend()
		case "expire":
			n.view.shelf.mu.Lock()
			clear(n.view.shelf.marks)
			n.view.shelf.mu.Unlock()
		case "pass":
			pass(time.Duration(x.n) * 900 * time.Millisecond)
		}
	}
}

// Whatever the store does to them, in the end all nodes and the store say the
// same, and nothing is left to be told.
func TestNodesAgreeInTheEnd(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		script, luck, count := steps().Draw(rt, "script"), newChance(rt), rapid.IntRange(2, 3).Draw(rt, "nodes")
		var fault string
		synctest.Test(t, func(t *testing.T) {
			s := newShelf()
			nodes, stop := fleet(t, s, count)
			defer stop()
			play(nodes, script, luck)
			for _, n := range nodes {
				n.view.mend()
			}
			pass(30 * time.Second) // what hangs gives up, overrides expire, polls go round
			var stored breaker.Snapshot
			if doc := s.doc("search%2Fitems"); doc != "" {
				if err := json.Unmarshal([]byte(doc), &stored); err != nil {
					t.Fatal(err)
				}
			}
			for _, n := range nodes {
				x := n.status()
				if x.State != stored.State || x.Reason != stored.Reason || x.Node != stored.Node || !x.Told || n.Stats().Pending != 0 ||
					x.State != breaker.Closed && (!x.Until.Equal(stored.Until) || x.Level != int(stored.Level)) {
					fault = fmt.Sprintf("%s has %+v (%+v), the store %+v", n.b.Name(), x, n.Stats(), stored)
				}
			}
		})
		if fault != "" {
			rt.Fatal(fault)
		}
	})
}

// While the store answers in time, of all calls that come at once on all nodes
// those of one node go out, and not more than Probes.
func TestProbesAreOfOneNode(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		waits, luck := rapid.SliceOfN(rapid.IntRange(0, 7000), 1, 8).Draw(rt, "waits"), newChance(rt)
		var fault string
		synctest.Test(t, func(t *testing.T) {
			nodes, stop := fleet(t, newShelf(), 3, func(c *circuit.Config) { c.ClaimFor, c.Poll = time.Second, 20*time.Millisecond })
			defer stop()
			for _, n := range nodes {
				n.view.setFault(func(op string) (bool, time.Duration, error) {
					if op == "list" {
						return false, time.Duration(luck.upTo(10)) * time.Millisecond, nil
					}
					return false, time.Duration(luck.upTo(100)) * time.Millisecond, nil
				})
			}
			nodes[0].calls(2, failed)
			for _, wait := range waits {
				pass(time.Duration(wait) * time.Millisecond)
				probes := rush(nodes, luck)
				if len(probes) > 1 {
					fault = fmt.Sprintf("%d nodes probe", len(probes))
				}
				for n, tickets := range probes {
					if len(tickets) > quick.Probes {
						fault = fmt.Sprintf("%d probes", len(tickets))
					}
					for _, tk := range tickets {
						n.b.Done(time.Now(), tk, breaker.Result{Failed: luck.upTo(2) == 0})
					}
				}
			}
			for _, n := range nodes {
				if x := n.Stats(); x.Alone != 0 {
					fault = fmt.Sprintf("%+v", x)
				}
			}
		})
		if fault != "" {
			rt.Fatal(fault)
		}
	})
}

// rush calls all nodes at nearly the same time, and returns the probes.
func rush(nodes []*node, luck *chance) map[*node][]breaker.Ticket {
	var mu sync.Mutex
	var all sync.WaitGroup
	probes := map[*node][]breaker.Ticket{}
	for range 12 {
		n, wait := nodes[luck.upTo(len(nodes))], time.Duration(luck.upTo(50))*time.Millisecond
		all.Go(func() {
			time.Sleep(wait)
			if tk, d := n.allow(); d.Probe {
				mu.Lock()
				defer mu.Unlock()
				probes[n] = append(probes[n], tk)
			}
		})
	}
	all.Wait()
	return probes
}

// Everything at once, for the race detector.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		nodes, stop := fleet(t, s, 3, func(c *circuit.Config) { c.Poll = 10 * time.Millisecond })
		var all sync.WaitGroup
		for i, n := range nodes {
			for j := range 4 {
				all.Go(func() {
					for k := range 200 {
						if tk, d := n.allow(); d.Allowed {
							n.b.Done(time.Now(), tk, breaker.Result{Failed: (i+j+k)%3 > 0})
						}
						time.Sleep(100 * time.Millisecond)
					}
				})
			}
			all.Go(func() {
				for k := range 50 {
					short := n.breaker(strings.Repeat("x", k%3+1), quick)
					short.Allow(t.Context(), time.Now())
					n.breaker(name, breaker.Config{Consecutive: 2 + k%3, Open: time.Second, Probes: 1})
					if err := n.Force(t.Context(), name, breaker.State(k%2)*breaker.Open, time.Now().Add(time.Duration(k%5)*50*time.Millisecond), "ann"); err != nil {
						t.Error(err)
					}
					n.List()
					n.Stats()
					n.Remove(short.Name())
					time.Sleep(400 * time.Millisecond)
				}
			})
		}
		all.Wait()
		pass(time.Second)
		for _, n := range nodes {
			if got, want := n.status(), nodes[0].status(); got.State != want.State || !got.Told {
				t.Errorf("%+v and %+v", got, want)
			}
		}
		if keys := s.keys(); keys != "search%2Fitems" {
			t.Errorf("the store has %q", keys)
		}
		stop()
	})
}
