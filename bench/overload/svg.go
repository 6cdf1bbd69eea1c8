package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/policy/shed"
)

// The picture's measures.
const (
	width, height = 760, 400
	left, right   = 64, 560 // of the axes; names of the lines stand to their right
	top, bottom   = 56, 336
)

// style is for light and dark: nothing is drawn behind, and colours follow the
// reader's scheme.
const style = `text{font:13px system-ui,sans-serif;fill:#3b434b}.title{font-size:15px;font-weight:600}.grid{stroke:#d0d7de}
.axis{stroke:#6e7781}path{fill:none;stroke-width:2.5;stroke-linejoin:round}.ideal{stroke:#8c959f;stroke-width:1.5;stroke-dasharray:2 4}
.a{stroke:#0969da}.b{stroke:#cf222e;stroke-dasharray:7 4}.c{stroke:#1a7f37}.d{stroke:#9a6700}
text.ideal,text.a,text.b,text.c,text.d{stroke:none}text.ideal{fill:#6e7781}text.a{fill:#0969da}text.b{fill:#cf222e}text.c{fill:#1a7f37}text.d{fill:#9a6700}
@media (prefers-color-scheme:dark){text{fill:#c9d1d9}.grid{stroke:#30363d}.axis{stroke:#8b949e}
.a{stroke:#58a6ff}.b{stroke:#ff7b72}.c{stroke:#3fb950}.d{stroke:#d29922}
text.ideal{fill:#8b949e}text.a{fill:#58a6ff}text.b{fill:#ff7b72}text.c{fill:#3fb950}text.d{fill:#d29922}}`

// line is one curve.
type line struct {
	class, name string
	points      []point
}

type point struct{ load, percent float64 }

// SVG draws the goodput of both, and below it what each priority got behind the
// pool.
func (r *Report) SVG() []byte {
	var goodput [2]line
	goodput[0] = line{class: "a", name: "with a pool"}
	goodput[1] = line{class: "b", name: "without"}
	var served []line
	for i, p := range shed.Priorities() {
		served = append(served, line{class: string("acdb"[i]), name: p.String()})
	}
	most := 1.0
	for _, row := range r.Rows {
		most = max(most, row.Load)
		i := 1
		if row.Pool {
			i = 0
			for tier, t := range row.Tally {
				served[tier].points = append(served[tier].points, point{row.Load, 100 * t.Share()})
			}
		}
		goodput[i].points = append(goodput[i].points, point{row.Load, 100 * row.Goodput})
	}
	ideal := line{class: "ideal", name: "ideal", points: []point{{0, 0}, {1, 100}, {most, 100}}}

	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="t">`+"\n", width, 2*height)
	fmt.Fprintf(&b, "<title id=\"t\">Goodput against offered load, with and without a pool</title>\n<style>%s</style>\n", style)
	panel(&b, 0, most, "Goodput under overload", "answers in time, % of capacity", append([]line{ideal}, goodput[1], goodput[0]))
	panel(&b, height, most, "Whose work is served, with a pool", "served, % of what was sent", served)
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// panel draws one pair of axes, y pixels down.
func panel(b *bytes.Buffer, y int, most float64, title, unit string, lines []line) {
	fmt.Fprintf(b, "<g transform=\"translate(0,%d)\">\n<text class=\"title\" x=\"%d\" y=\"24\">%s</text>\n<text x=\"%d\" y=\"44\">%s</text>\n", y, left, title, left, unit)
	for percent := 0; percent <= 100; percent += 25 {
		at := yOf(float64(percent))
		fmt.Fprintf(b, "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%d</text>\n", left, at, right, at, left-8, at+4, percent)
	}
	step := max(1, int(most/10))
	for load := 0; float64(load) <= most; load += step {
		at := xOf(float64(load), most)
		fmt.Fprintf(b, "<line class=\"axis\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/><text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d×</text>\n", at, bottom, at, bottom+5, at, bottom+20, load)
	}
	fmt.Fprintf(b, "<line class=\"axis\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">offered load, times the capacity</text>\n", left, bottom, right, bottom, (left+right)/2, bottom+42)
	var names []float64 // where names stand already
	for _, l := range lines {
		if len(l.points) == 0 {
			continue
		}
		var path strings.Builder
		for i, p := range l.points {
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], xOf(p.load, most), yOf(p.percent))
		}
		at := free(names, yOf(l.points[len(l.points)-1].percent))
		names = append(names, at)
		fmt.Fprintf(b, "<path class=\"%s\" d=\"%s\"/><text class=\"%s\" x=\"%d\" y=\"%.1f\">%s</text>\n", l.class, path.String(), l.class, right+12, at+4, l.name)
	}
	b.WriteString("</g>\n")
}

// free is the nearest place to at where no name stands yet.
func free(names []float64, at float64) float64 {
	const apart = 17
	for d := 0.0; ; d++ {
	next:
		for _, y := range []float64{at - d, at + d} {
			for _, other := range names {
				if y-other < apart && other-y < apart {
					continue next
				}
			}
			if y <= bottom {
				return y
			}
		}
	}
}

func xOf(load, most float64) float64 { return left + load/most*(right-left) }

func yOf(percent float64) float64 { return bottom - percent/110*(bottom-top) }
