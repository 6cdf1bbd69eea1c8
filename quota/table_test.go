package quota

import (
	"testing"

	"pgregory.net/rapid"
)

// modelCell is what a table should know of one id.
type modelCell struct {
	state int64
	mark  bool
}

// checkTable compares a table with a map, and looks at its shape.
func checkTable(t *rapid.T, tab *table, model map[id]modelCell) {
	if tab.n != len(model) || 5*tab.n > 4*tab.slots {
		t.Fatalf("%d cells in %d slots, want %d", tab.n, tab.slots, len(model))
	}
	seen := 0
	for i := range tab.slots {
		if !tab.taken(i) {
			if tab.marked(i) || tab.state(i)[0] != 0 {
				t.Fatalf("free slot %d is marked, or not clean", i)
			}
			continue
		}
		seen++
		d := tab.id(i)
		if want, ok := model[d]; !ok || want.state != tab.state(i)[0] || want.mark != tab.marked(i) {
			t.Fatalf("slot %d holds %v with %d, %v; want %+v, %v", i, d, tab.state(i)[0], tab.marked(i), want, ok)
		}
		if at := tab.find(d.hash(), d); at != i {
			t.Fatalf("%v is at %d and found at %d", d, i, at)
		}
	}
	if seen != tab.n {
		t.Fatalf("%d slots are taken, want %d", seen, tab.n)
	}
}

// Whatever is put in, taken out and moved, a table is a map.
func TestATableIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const most = 200
		tab := table{words: keyWords + 1}
		model := map[id]modelCell{}
		drawID := func(t *rapid.T) id {
			return id{1, rapid.Uint64Range(0, 300).Draw(t, "id")}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { checkTable(t, &tab, model) },
			"insert": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "cells") {
					d := drawID(t)
					if _, there := model[d]; there || len(model) == most {
						continue
					}
					cell := modelCell{rapid.Int64Range(1, 1e6).Draw(t, "state"), rapid.Bool().Draw(t, "mark")}
					i := tab.insert(d.hash(), d, most)
					tab.state(i)[0] = cell.state
					tab.mark(i, cell.mark)
					model[d] = cell
				}
			},
			"remove": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "cells") {
					d := drawID(t)
					i := tab.find(d.hash(), d)
					if _, there := model[d]; there != (i >= 0) {
						t.Fatalf("%v is at %d", d, i)
					}
					if i >= 0 {
						tab.remove(i)
						delete(model, d)
					}
				}
			},
			"shrink": func(*rapid.T) { tab.shrink() },
		})
	})
}

// However far a table has grown, a key of the biggest states that the
// documentation promises takes no more than 80 bytes of it.
func TestATableIsNeverBig(t *testing.T) {
	for _, q := range []Quota{{Buckets: 3}, {Buckets: 1, Shared: true}, {Burst: 1, Shared: true, Limit: 1, Per: 1e9}} {
		k := newScheme(q)
		tab := table{words: keyWords + k.words}
		worst := 0.0
		for i := range uint64(20_000) {
			d := id{1, i}
			tab.insert(d.hash(), d, 1<<20)
			if tab.n > 200 {
				worst = max(worst, float64(8*len(tab.cells)+8*len(tab.dirty))/float64(tab.n))
			}
		}
		if worst > 80 || k.words > 5 {
			t.Errorf("%+v: %d words, %.1f bytes a key", q, k.words, worst)
		}
	}
}

// A table gives back what a flood made it take.
func TestATableShrinks(t *testing.T) {
	tab := table{words: keyWords + 3}
	const n = 10_000
	for i := range uint64(n) {
		d := id{1, i}
		tab.insert(d.hash(), d, n)
	}
	if tab.slots > n*3/2 {
		t.Errorf("%d slots for %d cells", tab.slots, n)
	}
	for i := range uint64(n - 10) {
		d := id{1, i}
		tab.remove(tab.find(d.hash(), d))
	}
	tab.shrink()
	if tab.slots > bigTable {
		t.Errorf("%d slots for %d cells", tab.slots, tab.n)
	}
}

func TestKeysComeBack(t *testing.T) {
	m := mask{1, 2}
	k := Key{1, 2, 3, 15: 9}
	if got := m.key(m.id(&k)); got != k {
		t.Errorf("%v became %v", k, got)
	}
}
