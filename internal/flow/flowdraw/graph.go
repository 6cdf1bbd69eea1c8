package flowdraw

import (
	"cmp"
	"slices"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// graph is a definition whose needs are numbers of tasks. It omits missing tasks, and needs that would close a circle.
type graph struct {
	d     *flow.Definition
	needs [][]int
	rank  []int // length of the longest path to a task
	lasts []int // the last of each task's needs; -1: none
}

func newGraph(d *flow.Definition) *graph {
	g := &graph{d: d, needs: make([][]int, len(d.Tasks)), rank: make([]int, len(d.Tasks)), lasts: make([]int, len(d.Tasks))}
	index := make(map[string]int, len(d.Tasks))
	for i := range d.Tasks {
		index[d.Tasks[i].Name] = i
	}
	needed := make([][]int, len(d.Tasks))
	open := make([]int, len(d.Tasks))
	for i := range d.Tasks {
		for _, name := range d.Tasks[i].Needs {
			if n, ok := index[name]; ok && n != i && !slices.Contains(g.needs[i], n) {
				g.needs[i], needed[n] = append(g.needs[i], n), append(needed[n], i)
				open[i]++
			}
		}
	}
	var ready []int
	for i := range open {
		if open[i] == 0 {
			ready = append(ready, i)
		}
	}
	placed := make([]bool, len(d.Tasks))
	for len(ready) > 0 {
		i := ready[0]
		ready, placed[i] = ready[1:], true
		for _, n := range needed[i] {
			g.rank[n] = max(g.rank[n], g.rank[i]+1)
			if open[n]--; open[n] == 0 {
				ready = append(ready, n)
			}
		}
	}
	for i := range g.needs {
		if !placed[i] { // in a circle, or after one
			g.needs[i], g.rank[i] = nil, 0
		}
		g.lasts[i] = -1
		for _, n := range g.needs[i] {
			if g.lasts[i] < 0 || g.rank[n] > g.rank[g.lasts[i]] {
				g.lasts[i] = n
			}
		}
	}
	return g
}

func (g *graph) last(i int) int { return g.lasts[i] }

// slot is a place in a layer, for a task or for a line that passes.
type slot struct {
	task     int // -1: a line
	layer    int
	from, to []*slot // neighbours in the previous and the next layer
	y        float64
	at       int // index in the layer
}

// sweeps is how often the order of the layers is improved.
const sweeps = 6

// layers puts the tasks into layers, and the lines between them through the layers in between.
func (g *graph) layers() (layers [][]*slot, of []*slot) {
	of = make([]*slot, len(g.rank))
	add := func(task, layer int) *slot {
		for len(layers) <= layer {
			layers = append(layers, nil)
		}
		s := &slot{task: task, layer: layer, at: len(layers[layer])}
		layers[layer] = append(layers[layer], s)
		return s
	}
	for i, r := range g.rank {
		of[i] = add(i, r)
	}
	for i, needs := range g.needs {
		for _, n := range needs {
			before := of[n]
			for r := g.rank[n] + 1; r < g.rank[i]; r++ {
				line := add(-1, r)
				before.to, line.from = append(before.to, line), []*slot{before}
				before = line
			}
			before.to, of[i].from = append(before.to, of[i]), append(of[i].from, before)
		}
	}
	for sweep := range sweeps {
		for k := range layers {
			if sweep%2 == 0 {
				order(layers[k], func(s *slot) []*slot { return s.from })
			} else {
				order(layers[len(layers)-1-k], func(s *slot) []*slot { return s.to })
			}
		}
	}
	return layers, of
}

// order sorts a layer by the average position of the slots' neighbours.
func order(layer []*slot, neighbours func(*slot) []*slot) {
	weight := make(map[*slot]float64, len(layer))
	for _, s := range layer {
		all := neighbours(s)
		weight[s] = float64(s.at)
		if len(all) > 0 {
			sum := 0.0
			for _, n := range all {
				sum += float64(n.at)
			}
			weight[s] = sum / float64(len(all))
		}
	}
	sorted.StableFunc(layer, func(a, b *slot) int { return cmp.Compare(weight[a], weight[b]) })
	for i, s := range layer {
		s.at = i
	}
}
