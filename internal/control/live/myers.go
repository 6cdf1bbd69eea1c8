package live

import "slices"

// maxEdits limits the search for the fewest differences. It needs memory for about
// maxEdits² numbers, and time for as many steps.
const maxEdits = 1000

// compare returns the changes from a to b, in order, by the greedy algorithm of Eugene W.
// Myers, "An O(ND) Difference Algorithm and Its Variations" (1986).
func compare(a, b []string) []change {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	midA, midB := a[head:len(a)-tail], b[head:len(b)-tail]
	if len(midA) == 0 && len(midB) == 0 {
		return nil
	}
	trace, found := search(midA, midB)
	if !found {
		return []change{{head, len(a) - tail, head, len(b) - tail}}
	}
	return backtrack(trace, len(midA), len(midB), head)
}

// search extends the reach with 0, 1, 2 … differences. trace[d] is the reach with d
// differences, on the diagonals -d to d: the index of the next line of a.
func search(a, b []string) (trace [][]int32, found bool) {
	for d := 0; d <= min(maxEdits, len(a)+len(b)); d++ {
		reach := make([]int32, 2*d+1)
		for k := -d; k <= d; k += 2 {
			x := 0
			if d > 0 {
				x = furthest(trace[d-1], d-1, k)
			}
			y := x - k
			for x >= 0 && y >= 0 && x < len(a) && y < len(b) && a[x] == b[y] {
				x, y = x+1, y+1
			}
			reach[k+d] = int32(x)
			if x >= len(a) && y >= len(b) {
				return append(trace, reach), true
			}
		}
		trace = append(trace, reach)
	}
	return nil, false
}

// furthest returns where diagonal k is entered with one more difference than d: by a line
// of b, or of a.
func furthest(reach []int32, d, k int) int {
	if down(reach, d, k) {
		return int(reach[k+1+d])
	}
	return int(reach[k-1+d]) + 1
}

// down reports whether diagonal k is entered by a line of b.
func down(reach []int32, d, k int) bool {
	return k == -d-1 || k != d+1 && reach[k-1+d] < reach[k+1+d]
}

// backtrack walks from the end to the start and joins adjacent changes.
func backtrack(trace [][]int32, x, y, offset int) []change {
	var found []change
	for d := len(trace) - 1; d > 0; d-- {
		reach, k := trace[d-1], x-y
		c := change{}
		if down(reach, d-1, k) {
			x = int(reach[k+1+d-1])
			y = x - (k + 1)
			c = change{x, x, y, y + 1}
		} else {
			x = int(reach[k-1+d-1])
			y = x - (k - 1)
			c = change{x, x + 1, y, y}
		}
		if n := len(found); n > 0 && found[n-1].a == c.aEnd && found[n-1].b == c.bEnd {
			found[n-1].a, found[n-1].b = c.a, c.b
		} else {
			found = append(found, c)
		}
	}
	slices.Reverse(found)
	for i := range found {
		c := &found[i]
		c.a, c.aEnd, c.b, c.bEnd = c.a+offset, c.aEnd+offset, c.b+offset, c.bEnd+offset
	}
	return found
}
