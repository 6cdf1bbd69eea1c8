package elastic

import (
	"bytes"
	"fmt"
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// grid measures a grid of cells and gives its buckets: the backend returns at
// most size of them, but collects all.
func (r *Reader) grid(kind string, v int) float64 {
	at := r.get(v, "precision")
	p, ok := r.number(at)
	if !ok {
		p = r.defaultPrecision(kind, at)
	}
	b, source := r.gridBox(v)
	cells, formula := 0.0, ""
	switch kind {
	case "geohash_grid":
		p = min(max(p, 0), 12)
		cells, formula = math.Pow(32, p)*b.lat()*b.lon(), "32"
	case "geotile_grid":
		p = min(max(p, 0), 29)
		cells, formula = math.Pow(4, p)*b.mercator()*b.lon(), "4"
	default:
		p = min(max(p, 0), 15)
		cells, formula = 122*math.Pow(7, p)*b.sphere(), "122 × 7"
	}
	cells = max(1, math.Round(cells))
	m := r.add(cost.GeoCells, cells, firstOf(at, v))
	if r.o.Explain {
		m.Detail = fmt.Sprintf("%s^%s cells, %s: %s", formula, figure(p), source, figure(cells))
	}
	return max(1, min(r.numberOr(r.get(v, "size"), 10000), cells))
}

func (r *Reader) defaultPrecision(kind string, at int) float64 {
	if kind == "geohash_grid" && at > none && r.isText(at) {
		if m := r.meters(at); m > 0 { // the length at which a cell is that small
			p := 0.0
			for w := 40e6; w > m && p < 12; p++ {
				w /= math.Sqrt(32)
			}
			return p
		}
	}
	switch kind {
	case "geohash_grid":
		return 5
	case "geotile_grid":
		return 7
	}
	return 6
}

// gridBox is the smallest box that bounds a grid: its own, or a filter's.
func (r *Reader) gridBox(v int) (box, string) {
	best, source := world(), "on the whole earth"
	if bounds := r.get(v, "bounds"); bounds > none {
		if b, ok := r.boxOf(bounds); ok && b.valid() {
			best, source = b, "within its bounds"
		}
	}
	f := r.get(v, "field")
	if f <= none || !r.isText(f) {
		return best, source
	}
	field := r.bytes(f)
	for i := range r.areas {
		a := &r.areas[i]
		if bytes.Equal(a.field, field) && a.box.lat()*a.box.lon() < best.lat()*best.lon() {
			best, source = a.box, "within a filter on the field"
		}
	}
	return best, source
}
