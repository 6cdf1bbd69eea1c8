package fleet_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// try returns the names that up to n calls of TryAcquire get, and keeps them.
func try(f *fleet.Fleet, want fleet.Want, n int) map[string]int {
	got := map[string]int{}
	for range n {
		if w := f.TryAcquire(want); w != nil {
			got[w.Name()]++
		}
	}
	return got
}

// down ends a worker's life.
func down(f *fleet.Fleet, names ...string) {
	for _, st := range f.Snapshot() {
		if slices.Contains(names, st.Name) {
			f.Down(st.Name, st.Epoch, fleet.End{Planned: true})
		}
	}
}

func TestCallerGetsItsHandAlone(t *testing.T) {
	for _, n := range []int{3, 8, 40} {
		f, other := open(t, n, fleet.Config{}), open(t, n, fleet.Config{})
		for caller := uint64(1); caller < 200; caller++ {
			want := fleet.Want{Caller: caller, Shard: 2}
			members := f.Shard(want)
			if len(members) != 2 || !slices.Equal(members, other.Shard(want)) || !slices.Equal(members, f.Shard(want)) {
				t.Fatalf("the shard of %d is %v, in another process %v, and again %v", caller, members, other.Shard(want), f.Shard(want))
			}
			got := try(f, want, 6)
			if got[members[0]]+got[members[1]] != 6 || got[members[0]] == 0 || got[members[1]] == 0 {
				t.Fatalf("caller %d with shard %v got %v", caller, members, got)
			}
			for w, n := range got { // it takes back what it used
				for range n {
					f.Release(f.Worker(w, epoch(f, w)))
				}
			}
		}
	}
}

func epoch(f *fleet.Fleet, worker string) uint64 {
	for _, st := range f.Snapshot() {
		if st.Name == worker {
			return st.Epoch
		}
	}
	return 0
}

func TestHandOutlivesLives(t *testing.T) {
	f := open(t, 8, fleet.Config{})
	want := fleet.Want{Caller: 7, Shard: 2}
	members := f.Shard(want)
	down(f, members[0])
	if got := f.Shard(want); !slices.Equal(got, members) {
		t.Errorf("with a worker down the shard is %v, want %v", got, members)
	}
	if got := try(f, want, 5); got[members[1]] != 5 {
		t.Errorf("got %v, want the other of %v", got, members)
	}
	f.Up(members[0], "127.0.0.1:1")
	if got := try(f, want, 5); got[members[0]] != 5 {
		t.Errorf("got %v, want the new life, which is idle, of %v", got, members)
	}
}

func TestWhoHasTheWholeFleet(t *testing.T) {
	f := open(t, 4, fleet.Config{})
	for _, want := range []fleet.Want{
		{}, {Caller: 7}, {Shard: 2}, {Shard: 2, Cells: 2}, {Caller: 7, Shard: 4}, {Caller: 7, Shard: 9}, {Caller: 7, Shard: -1}, {Caller: 7, Cells: 1},
	} {
		if members := f.Shard(want); members != nil {
			t.Errorf("%+v has the shard %v", want, members)
		}
	}
}

func TestCells(t *testing.T) {
	f := open(t, 9, fleet.Config{})
	cells := map[string]int{}
	for caller := uint64(1); caller < 300; caller++ {
		cells[fmt.Sprint(slices.Sorted(slices.Values(f.Shard(fleet.Want{Caller: caller, Cells: 3}))))]++
		both := f.Shard(fleet.Want{Caller: caller, Cells: 3, Shard: 2})
		cell := f.Shard(fleet.Want{Caller: caller, Cells: 3})
		if len(both) != 2 || !slices.Contains(cell, both[0]) || !slices.Contains(cell, both[1]) {
			t.Fatalf("the shard %v is not in the cell %v", both, cell)
		}
	}
	for _, cell := range []string{"[w0 w3 w6]", "[w1 w4 w7]", "[w2 w5 w8]"} {
		if cells[cell] < 60 {
			t.Errorf("%d of 300 callers are in the cell %s: %v", cells[cell], cell, cells)
		}
	}
	if len(cells) != 3 {
		t.Errorf("cells %v, want 3", cells)
	}
	if members := open(t, 2, fleet.Config{}).Shard(fleet.Want{Caller: 7, Cells: 5}); len(members) != 1 {
		t.Errorf("of 2 workers in 5 cells the shard is %v, want one worker", members)
	}
}

func TestOverflow(t *testing.T) {
	base := fleet.Want{Caller: 7, Shard: 2}
	for _, c := range []struct {
		name    string
		happens func(f *fleet.Fleet, members []string)
		never   bool // whether somebody outside the shard is given
		down    bool
		busy    bool
	}{
		{"nothing", func(*fleet.Fleet, []string) {}, false, false, false},
		{"one down", func(f *fleet.Fleet, h []string) { down(f, h[0]) }, false, false, false},
		{"both down", func(f *fleet.Fleet, h []string) { down(f, h...) }, false, true, true},
		{"one down, one draining", func(f *fleet.Fleet, h []string) { down(f, h[0]); f.Drain(h[1]) }, false, true, true},
		{"both sick", func(f *fleet.Fleet, h []string) {
			f.Sick(h[0], epoch(f, h[0]), "")
			f.Sick(h[1], epoch(f, h[1]), "")
		}, false, true, true},
		{"both full", func(f *fleet.Fleet, h []string) { try(f, base, 4) }, false, false, true},
		{"one down, one full", func(f *fleet.Fleet, h []string) { down(f, h[0]); try(f, base, 2) }, false, false, true},
	} {
		for overflow, want := range map[fleet.Overflow]bool{fleet.OverflowNever: c.never, fleet.OverflowDown: c.down, fleet.OverflowBusy: c.busy} {
			t.Run(c.name+", "+overflow.String(), func(t *testing.T) {
				f := open(t, 8, fleet.Config{MaxInFlight: 2})
				members := f.Shard(base)
				c.happens(f, members)
				w := base
				w.Overflow = overflow
				outside := map[string]bool{}
				for range 2 {
					for name := range try(f, w, 1) {
						if !slices.Contains(members, name) {
							outside[name] = true
						}
					}
				}
				if (len(outside) > 0) != want || len(outside) > 2 {
					t.Errorf("got %v outside %v, want any: %v", outside, members, want)
				}
				if n := f.Stats().Overflowed; (n > 0) != want {
					t.Errorf("%d overflowed", n)
				}
				if err := f.Check(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// What overflows stays as narrow as the shard was: the same two each time.
func TestOverflowIsNarrow(t *testing.T) {
	f := open(t, 20, fleet.Config{})
	want := fleet.Want{Caller: 7, Shard: 2, Overflow: fleet.OverflowDown}
	down(f, f.Shard(want)...)
	if got := try(f, want, 50); len(got) != 2 {
		t.Errorf("it overflowed to %v, want two workers", got)
	}
}

// When all of a shard that may not be left look sick, one that looks sick is
// better than none.
func TestLastResort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 8, fleet.Config{MaxInFlight: 1})
		want := fleet.Want{Caller: 7, Shard: 2}
		members := f.Shard(want)
		down(f, members[0])
		if !f.Sick(members[1], epoch(f, members[1]), "503") {
			t.Fatal("it is not held out")
		}
		w := f.TryAcquire(want)
		if w == nil || w.Name() != members[1] {
			t.Fatalf("got %v, want %s", w, members[1])
		}
		got := make(chan *fleet.Worker)
		go func() {
			w, _ := f.Acquire(t.Context(), want)
			got <- w
		}()
		synctest.Wait()
		f.Release(w)
		if w := <-got; w == nil || w.Name() != members[1] {
			t.Errorf("who waited got %v, want %s", w, members[1])
		}
	})
}

func TestCanaryStaysInTheShard(t *testing.T) {
	f := open(t, 16, fleet.Config{}) // w0 and w1 are canaries
	with, without := 0, 0
	for caller := uint64(1); caller < 400; caller++ {
		want := fleet.Want{Caller: caller, Shard: 2, Canary: true}
		members := f.Shard(want)
		canaries := 0
		for _, w := range members {
			if w == "w0" || w == "w1" {
				canaries++
			}
		}
		for got := range try(f, want, 3) {
			if !slices.Contains(members, got) {
				t.Fatalf("a canary of caller %d ran on %s, outside %v", caller, got, members)
			}
			if canaries == 1 && got != "w0" && got != "w1" {
				t.Fatalf("a canary of caller %d ran on %s of %v", caller, got, members)
			}
		}
		switch canaries {
		case 0:
			without++
		case 1:
			with++
		}
	}
	if with == 0 || without == 0 {
		t.Errorf("%d shards with a canary, %d without: nothing was tested", with, without)
	}
}

func TestAvoidStaysInTheShard(t *testing.T) {
	f := open(t, 8, fleet.Config{})
	want := fleet.Want{Caller: 7, Shard: 2, Overflow: fleet.OverflowDown}
	members := f.Shard(want)
	want.Avoid = members[0]
	if got := try(f, want, 20); got[members[1]] != 20 {
		t.Errorf("got %v, want %s", got, members[1])
	}
	down(f, members[1])
	if got := try(f, want, 20); got[members[0]] != 20 {
		t.Errorf("got %v, want the only one left, %s", got, members[0])
	}
}

// A caller that kills whatever it touches takes everything from those alone who
// share its whole shard.
func TestKillerStaysInItsShard(t *testing.T) {
	f := open(t, 10, fleet.Config{})
	killer := fleet.Want{Caller: 7, Shard: 2}
	members := slices.Sorted(slices.Values(f.Shard(killer)))
	for {
		w := f.TryAcquire(killer)
		if w == nil {
			break
		}
		f.Down(w.Name(), w.Epoch(), fleet.End{})
		f.Release(w)
	}
	if n := f.Serving(); n != 8 {
		t.Fatalf("%d workers are left, want 8", n)
	}
	lost := 0
	for caller := uint64(100); caller < 2100; caller++ {
		want := fleet.Want{Caller: caller, Shard: 2}
		w := f.TryAcquire(want)
		if w != nil {
			f.Release(w)
			continue
		}
		lost++
		if other := slices.Sorted(slices.Values(f.Shard(want))); !slices.Equal(other, members) {
			t.Errorf("caller %d with shard %v has nobody, and the killer's is %v", caller, other, members)
		}
	}
	if lost == 0 || lost > 90 { // 2,000 / 45 = 44
		t.Errorf("%d of 2,000 callers lost everything", lost)
	}
}

func TestParseOverflow(t *testing.T) {
	for _, s := range []fleet.Overflow{fleet.OverflowNever, fleet.OverflowDown, fleet.OverflowBusy} {
		if got, err := fleet.ParseOverflow(s.String()); got != s || err != nil {
			t.Errorf("ParseOverflow(%q) = %v, %v", s, got, err)
		}
	}
	if s, err := fleet.ParseOverflow(""); s != fleet.OverflowNever || err != nil {
		t.Errorf("nothing is %v, %v", s, err)
	}
	if _, err := fleet.ParseOverflow("maybe"); err == nil {
		t.Error("maybe was accepted")
	}
}
