package elastic

import (
	"bytes"
	"fmt"
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// grid measures a grid of cells and returns its number of buckets. The backend returns at
// most size buckets, but collects all cells that contain a document. The backend's makers
// consider its default precision acceptable for some documents on the whole earth, and
// coarser ones for all documents. So these count only as the returned cells, unless each
// cell contains buckets of its own.
func (r *Reader) grid(kind string, v int, c scope) (buckets float64, known bool) {
	at := r.get(v, "precision")
	usual := usualPrecision(kind)
	p := r.precision(kind, at, usual)
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
	asked := r.get(v, "size")
	returned := max(1, min(r.quantity(asked, gridSize), cells))
	collected, note := cells, ""
	bearable := p < usual || p == usual && c.sel >= selStrong
	if bearable && !c.below && cells > returned {
		collected, note = returned, "; at the backend's default precision, only returned cells count"
	} else if h, ok := r.indexHint(); ok && h.Docs > 0 && h.Docs < cells {
		collected, note = h.Docs, ", limited by the number of documents from a hint"
	}
	m := r.add(cost.GeoCells, collected, firstOf(at, v))
	if r.o.Explain {
		m.Detail = fmt.Sprintf("%s^%s cells, %s: %s%s", formula, figure(p), source, figure(cells), note)
	}
	return returned, asked > none || returned < gridSize
}

// gridSize is the default number of returned cells.
const gridSize = 10_000

// precision returns the precision of a grid. For geohashes, a text may be a length.
func (r *Reader) precision(kind string, at int, usual float64) float64 {
	if kind == "geohash_grid" && at > none && r.isText(at) {
		if m := r.meters(at); m > 0 {
			if _, plain := r.number(at); !plain {
				return lengthPrecision(m)
			}
		}
	}
	return r.quantity(at, usual)
}

// lengthPrecision returns the length of a geohash whose cells are at most m meters large.
func lengthPrecision(m float64) float64 {
	p := 0.0
	for w := 40e6; w > m && p < 12; p++ {
		w /= math.Sqrt(32)
	}
	return p
}

func usualPrecision(kind string) float64 {
	switch kind {
	case "geohash_grid":
		return 5
	case "geotile_grid":
		return 7
	}
	return 6
}

// gridBox returns the smallest box that limits a grid: its own bounds, or a filter.
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
