package fleet_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/policy/balance"
)

// machine is a fleet under random use.
type machine struct {
	*fleet.Fleet

	n      int
	max    int             // in flight per worker
	out    []*fleet.Worker // handed out
	lane   *fleet.Worker
	cancel []context.CancelFunc // of those who wait
	served chan *fleet.Worker   // what they got
}

func (m *machine) worker(t *rapid.T) (name string, e uint64) {
	name = fmt.Sprintf("w%d", rapid.IntRange(0, m.n-1).Draw(t, "worker"))
	return name, epoch(m.Fleet, name)
}

func drawWant(t *rapid.T) fleet.Want {
	return fleet.Want{
		Avoid:    rapid.SampledFrom([]string{"", "w0"}).Draw(t, "avoid"),
		Canary:   rapid.Bool().Draw(t, "canary"),
		Caller:   rapid.Uint64Range(0, 5).Draw(t, "caller"),
		Shard:    rapid.IntRange(0, 4).Draw(t, "shard"),
		Cells:    rapid.IntRange(0, 3).Draw(t, "cells"),
		Overflow: rapid.SampledFrom([]fleet.Overflow{fleet.OverflowNever, fleet.OverflowDown, fleet.OverflowBusy}).Draw(t, "overflow"),
	}
}

// try takes a worker and checks that it may be had.
func (m *machine) try(t *rapid.T) {
	want := drawWant(t)
	before := m.Snapshot()
	w := m.TryAcquire(want)
	if w == nil {
		return
	}
	m.out = append(m.out, w)
	members := m.Shard(want)
	inside := members == nil || slices.Contains(members, w.Name())
	for _, st := range before {
		switch mine := members == nil || slices.Contains(members, st.Name); {
		case st.Name == w.Name():
			last := st.HeldOut && want.Overflow == fleet.OverflowNever && members != nil
			if st.State != fleet.Serving || st.InFlight >= m.max || st.HeldOut && !last {
				t.Fatalf("%+v was given for %+v", st, want)
			}
		case inside || !mine || st.State != fleet.Serving || st.HeldOut || st.Silent:
		case st.InFlight < m.max || want.Overflow != fleet.OverflowBusy:
			t.Fatalf("%s was given for %+v, though %+v is in the shard %v", w.Name(), want, st, members)
		}
	}
	if !inside && want.Overflow == fleet.OverflowNever {
		t.Fatalf("%s was given for %+v with the shard %v", w.Name(), want, members)
	}
}

func (m *machine) wait(t *rapid.T) {
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = append(m.cancel, cancel)
	want := drawWant(t)
	go func() {
		if w, err := m.Acquire(ctx, want); err == nil {
			m.served <- w
		}
	}()
	synctest.Wait()
}

// collect takes in what those who waited got.
func (m *machine) collect() {
	synctest.Wait()
	for len(m.served) > 0 {
		m.out = append(m.out, <-m.served)
	}
}

func (m *machine) remove(t *rapid.T) {
	name, e := m.worker(t)
	before := m.Size()
	if err := m.Remove(name); (err != nil) != (e != 0) {
		t.Fatalf("removing %s of epoch %d: %v", name, e, err)
	}
	if after := m.Size(); after != before && (e != 0 || after != before-1) {
		t.Fatalf("of %d places %d are left", before, after)
	}
}

func (m *machine) tune(t *rapid.T) {
	m.max = rapid.IntRange(1, 3).Draw(t, "max")
	cfg := testConfig()
	cfg.MaxInFlight = m.max
	if err := m.Tune(cfg); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) release(t *rapid.T) {
	if len(m.out) > 0 {
		i := rapid.IntRange(0, len(m.out)-1).Draw(t, "which")
		m.Release(m.out[i])
		m.out = slices.Delete(m.out, i, i+1)
	}
}

func (m *machine) reserve(*rapid.T) {
	if m.lane != nil {
		m.Unreserve(m.lane)
		m.lane = nil
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	m.lane, _ = m.Reserve(ctx, fleet.LaneWant{})
}

func testConfig() fleet.Config {
	return fleet.Config{
		Name: "test", MaxInFlight: 2, MaxWaiting: 16, SlowStart: time.Second,
		PanicBelow: 0.4, Eject: balance.Eject{MaxEject: 0.5, For: time.Second},
	}
}

// bubble hides T.Deadline, which may not be called inside a bubble.
type bubble struct{ rapid.TB }

func TestMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(bubble{t}, func(t *rapid.T) {
			f, err := fleet.New(testConfig())
			if err != nil {
				t.Fatal(err)
			}
			m := &machine{Fleet: f, max: 2, n: rapid.IntRange(1, 8).Draw(t, "workers"), served: make(chan *fleet.Worker, 1000)}
			up := func(t *rapid.T) { name, _ := m.worker(t); f.Up(name, "127.0.0.1:1") }
			t.Repeat(map[string]func(*rapid.T){
				"up":      up,
				"up2":     up, // as often as what takes away
				"down":    func(t *rapid.T) { n, e := m.worker(t); f.Down(n, e, fleet.End{}) },
				"remove":  m.remove,
				"tune":    m.tune,
				"drain":   func(t *rapid.T) { n, _ := m.worker(t); f.Drain(n) },
				"resume":  func(t *rapid.T) { n, _ := m.worker(t); f.Resume(n) },
				"sick":    func(t *rapid.T) { n, e := m.worker(t); f.Sick(n, e, "why") },
				"well":    func(t *rapid.T) { n, e := m.worker(t); f.Well(n, e) },
				"try":     m.try,
				"wait":    m.wait,
				"release": m.release,
				"lane":    m.reserve,
				"time":    func(*rapid.T) { time.Sleep(500 * time.Millisecond) },
				"listen": func(t *rapid.T) {
					for _, s := range f.Listen(time.Now()) {
						if s.Look && rapid.Bool().Draw(t, "well") {
							f.Looked(s.Worker, fleet.Alive)
						}
					}
				},
				"answers": func(t *rapid.T) {
					status := rapid.SampledFrom([]int{200, 500}).Draw(t, "status")
					if n, e := m.worker(t); e != 0 {
						observe(f, n, rapid.IntRange(1, 60).Draw(t, "times"), status)
					}
				},
				"": func(t *rapid.T) {
					m.collect()
					if err := f.Check(); err != nil {
						t.Fatal(err)
					}
				},
			})
			for _, cancel := range m.cancel {
				cancel()
			}
			m.collect()
			for _, st := range f.Snapshot() {
				f.Down(st.Name, st.Epoch, fleet.End{})
			}
			if st := f.Stats(); st.Waiting != 0 || st.Up != 0 || st.Well != 0 || st.Panic {
				t.Fatalf("in the end: %+v", st)
			}
		})
	})
}
