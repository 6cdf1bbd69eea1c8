package redos

import "slices"

// components finds the strongly connected components of a graph by Tarjan's algorithm,
// without recursion. out returns the i-th successor of a node. The components are in
// reverse topological order.
func components(n int, out func(v int32, i int) (int32, bool)) (of []int32, comps [][]int32) {
	t := &tarjan{
		of: make([]int32, n), index: make([]int32, n), low: make([]int32, n), at: make([]int, n),
		onStack: make([]bool, n),
	}
	for root := range int32(n) {
		if t.index[root] == 0 {
			t.visit(root, out)
		}
	}
	return t.of, t.comps
}

type tarjan struct {
	of, index, low []int32
	at             []int // by node: next edge to follow
	onStack        []bool
	stack, path    []int32
	clock          int32
	comps          [][]int32
}

func (t *tarjan) visit(root int32, out func(v int32, i int) (int32, bool)) {
	t.path = append(t.path, root)
	for len(t.path) > 0 {
		v := t.path[len(t.path)-1]
		if t.index[v] == 0 {
			t.clock++
			t.index[v], t.low[v] = t.clock, t.clock
			t.stack = append(t.stack, v)
			t.onStack[v] = true
		}
		if w, ok := out(v, t.at[v]); ok {
			t.at[v]++
			if t.index[w] == 0 {
				t.path = append(t.path, w)
			} else if t.onStack[w] {
				t.low[v] = min(t.low[v], t.index[w])
			}
			continue
		}
		t.path = t.path[:len(t.path)-1]
		if len(t.path) > 0 {
			up := t.path[len(t.path)-1]
			t.low[up] = min(t.low[up], t.low[v])
		}
		if t.low[v] == t.index[v] {
			t.pop(v)
		}
	}
}

// pop removes the component of v from the stack.
func (t *tarjan) pop(v int32) {
	i := len(t.stack) - 1
	for t.stack[i] != v {
		i--
	}
	members := slices.Clone(t.stack[i:])
	for _, m := range members {
		t.onStack[m] = false
		t.of[m] = int32(len(t.comps))
	}
	t.comps = append(t.comps, members)
	t.stack = t.stack[:i]
}
