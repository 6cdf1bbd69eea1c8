package flowdraw

import (
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/flow"
)

// MaxDrawn is the most tasks of a drawing, and maxSlots the most places including lines.
const (
	MaxDrawn = 2_000
	maxLines = 50_000
)

// ErrTooLarge means that a flow is too large for a drawing.
var ErrTooLarge = errors.New("the flow is too large for a drawing: draw it as text")

// Box is the position of a task.
type Box struct {
	Task       string
	X, Y, W, H float64
}

// Line connects a task to one that needs it.
type Line struct {
	From, To string
	Points   []Point // at least two
}

// Point is a place in a drawing.
type Point struct{ X, Y float64 }

// Layout holds the positions of all parts of a drawing.
type Layout struct {
	W, H  float64
	Boxes []Box // in the order of the definition
	Lines []Line
}

// The measures of a drawing, in pixels.
const (
	margin    = 16.0
	height    = 44.0 // of a task
	gapY      = 14.0
	lineH     = 10.0 // of a place that a line passes
	gapX      = 56.0
	charWidth = 7.4
	padding   = 14.0
	minWidth  = 96.0
)

// Place computes the layout of a flow.
func Place(d flow.Definition) (Layout, error) {
	if len(d.Tasks) > MaxDrawn {
		return Layout{}, ErrTooLarge
	}
	g := newGraph(&d)
	passed := 0
	for i, needs := range g.needs {
		for _, n := range needs {
			passed += g.rank[i] - g.rank[n]
		}
	}
	if passed > maxLines {
		return Layout{}, ErrTooLarge
	}
	layers, of := g.layers()
	if len(layers) == 0 {
		return Layout{W: 2 * margin, H: 2 * margin}, nil
	}
	settle(layers)
	return g.layout(layers, of), nil
}

// layout returns the positions once all heights are known.
func (g *graph) layout(layers [][]*slot, of []*slot) Layout {
	out := Layout{Boxes: make([]Box, len(of))}
	left, right := make([]float64, len(layers)), make([]float64, len(layers))
	x := margin
	for k, layer := range layers {
		width := 0.0
		for _, s := range layer {
			if s.task >= 0 {
				width = max(width, minWidth, float64(utf8.RuneCountInString(g.d.Tasks[s.task].Name))*charWidth+2*padding)
			}
		}
		left[k], right[k] = x, x+width
		x += width + gapX
	}
	out.W = x - gapX + margin
	for i, s := range of {
		out.Boxes[i] = Box{Task: g.d.Tasks[i].Name, X: left[s.layer], Y: s.y - height/2, W: right[s.layer] - left[s.layer], H: height}
		out.H = max(out.H, s.y+height/2+margin)
	}
	for i, needs := range g.needs {
		for _, n := range needs {
			points := []Point{{left[of[i].layer], of[i].y}} // from the end to the start
			for s := before(of[i], of[n]); s != of[n]; s = before(s, of[n]) {
				points = append(points, Point{right[s.layer], s.y}, Point{left[s.layer], s.y})
				out.H = max(out.H, s.y+margin)
			}
			points = append(points, Point{right[of[n].layer], of[n].y})
			slices.Reverse(points)
			out.Lines = append(out.Lines, Line{From: g.d.Tasks[n].Name, To: g.d.Tasks[i].Name, Points: points})
		}
	}
	return out
}

// before returns the slot before s on the line from a task.
func before(s, task *slot) *slot {
	for _, b := range s.from {
		for first := b; ; first = first.from[0] {
			if first == task {
				return b
			}
			if first.task >= 0 {
				break
			}
		}
	}
	return task
}

// settle computes the heights: each slot near the middle of its neighbours, in order, and without overlap.
func settle(layers [][]*slot) {
	for _, layer := range layers {
		y := margin
		for _, s := range layer {
			s.y = y + size(s)/2
			y += size(s) + gapY
		}
	}
	for sweep := range 2 * sweeps {
		for k := range layers {
			layer, neighbours := layers[k], func(s *slot) []*slot { return s.from }
			if sweep%2 == 1 {
				layer, neighbours = layers[len(layers)-1-k], func(s *slot) []*slot { return s.to }
			}
			for _, s := range layer {
				if all := neighbours(s); len(all) > 0 {
					sum := 0.0
					for _, n := range all {
						sum += n.y
					}
					s.y = sum / float64(len(all))
				}
			}
			apart(layer)
		}
	}
	top := layers[0][0].y
	for _, layer := range layers {
		for _, s := range layer {
			top = min(top, s.y-size(s)/2)
		}
	}
	for _, layer := range layers {
		for _, s := range layer {
			s.y += margin - top
		}
	}
}

// apart moves the slots of a layer until none overlaps another. Slots that want the same place are centred on it.
func apart(layer []*slot) {
	type group struct{ first, end int }
	var groups []group
	// want returns the best position for the first slot of a group.
	want := func(g group) float64 {
		sum, offset := 0.0, 0.0
		for i := g.first; i < g.end; i++ {
			if i > g.first {
				offset += (size(layer[i-1])+size(layer[i]))/2 + gapY
			}
			sum += layer[i].y - offset
		}
		return sum / float64(g.end-g.first)
	}
	ends := func(g group, at float64) float64 {
		for i := g.first + 1; i < g.end; i++ {
			at += (size(layer[i-1])+size(layer[i]))/2 + gapY
		}
		return at
	}
	for i := range layer {
		g := group{i, i + 1}
		for len(groups) > 0 {
			b := groups[len(groups)-1]
			least := ends(b, want(b)) + (size(layer[b.end-1])+size(layer[g.first]))/2 + gapY
			if want(g) >= least {
				break
			}
			g.first, groups = b.first, groups[:len(groups)-1]
		}
		groups = append(groups, g)
	}
	for _, g := range groups {
		y := want(g)
		for i := g.first; i < g.end; i++ {
			if i > g.first {
				y += (size(layer[i-1])+size(layer[i]))/2 + gapY
			}
			layer[i].y = y
		}
	}
}

func size(s *slot) float64 {
	if s.task < 0 {
		return lineH
	}
	return height
}
