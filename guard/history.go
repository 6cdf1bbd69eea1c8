package guard

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// HistoryMinutes is how many minutes are kept of what queries cost.
const HistoryMinutes = 60

// history is units by the minute.
type history struct {
	minute int64 // of the newest
	units  [HistoryMinutes]float32
}

func (h *history) add(minute int64, units float64) {
	h.turn(minute)
	h.units[h.minute%HistoryMinutes] += float32(units)
}

// turn makes minute the newest, unless it is older. Clocks may go back: then what
// is counted belongs to the newest.
func (h *history) turn(minute int64) {
	if minute <= h.minute {
		return
	}
	for m := max(h.minute+1, minute-HistoryMinutes+1); m <= minute; m++ {
		h.units[m%HistoryMinutes] = 0
	}
	h.minute = minute
}

func (h *history) sum(o *history) {
	h.turn(o.minute)
	for m := max(h.minute-HistoryMinutes+1, o.minute-HistoryMinutes+1, 0); m <= o.minute; m++ {
		h.units[m%HistoryMinutes] += o.units[m%HistoryMinutes]
	}
}

// list is the units of the minutes up to this one, which is the last.
func (h history) list(minute int64) []float64 {
	h.turn(minute)
	out := make([]float64, HistoryMinutes)
	for i := range out {
		if m := h.minute - HistoryMinutes + 1 + int64(i); m >= 0 {
			out[i] = math.Round(100*float64(h.units[m%HistoryMinutes])) / 100
		}
	}
	return out
}

// MaxCallerShapes bounds the shapes that are counted of one caller.
const MaxCallerShapes = 8

// CallerShape is what one caller has sent of one shape. When there is no room for
// a new one, it takes the place of the one that cost least, so numbers may be too
// low.
type CallerShape struct {
	Shape    string  `json:"shape"`
	Queries  int64   `json:"queries"`
	Rejected int64   `json:"rejected"`
	Cost     float64 `json:"cost"` // sum of units
	MaxCost  float64 `json:"max_cost"`
}

type callerShape struct {
	CallerShape

	id uint64
}

// sent counts a query among the shapes of its caller.
func (s *CallerStats) sent(v *Verdict) {
	i := slices.IndexFunc(s.shapes, func(c callerShape) bool { return c.id == v.Shape })
	switch {
	case i >= 0:
	case len(s.shapes) < MaxCallerShapes:
		i = len(s.shapes)
		s.shapes = append(s.shapes, callerShape{id: v.Shape})
	default:
		least := slices.MinFunc(s.shapes, func(a, b callerShape) int { return cmp.Compare(a.Cost, b.Cost) })
		i = slices.IndexFunc(s.shapes, func(c callerShape) bool { return c.id == least.id })
		s.shapes[i] = callerShape{id: v.Shape}
	}
	c := &s.shapes[i]
	c.Queries++
	c.Cost += v.Cost
	c.MaxCost = max(c.MaxCost, v.Cost)
	if v.Verdict == Rejected {
		c.Rejected++
	}
}

func (s *CallerStats) listShapes() []CallerShape {
	out := make([]CallerShape, len(s.shapes))
	for i := range s.shapes {
		out[i] = s.shapes[i].CallerShape
		out[i].Shape = shapeText(s.shapes[i].id)
	}
	slices.SortFunc(out, func(a, b CallerShape) int { return cmp.Or(-cmp.Compare(a.Cost, b.Cost), cmp.Compare(a.Shape, b.Shape)) })
	return out
}

// Judging is how long the judging of queries took.
type Judging struct {
	Queries int64                        `json:"queries"`
	Took    time.Duration                `json:"took"` // sum
	Within  [len(JudgingBuckets{})]int64 `json:"-"`    // not cumulative: what is slower than the last is in Queries only
}

// JudgingBuckets are the bounds of Judging.Within.
type JudgingBuckets [7]time.Duration

// Buckets returns the bounds of Within.
func (Judging) Buckets() JudgingBuckets {
	return JudgingBuckets{5 * time.Microsecond, 20 * time.Microsecond, 100 * time.Microsecond, 500 * time.Microsecond, 2 * time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond}
}

func (j *Judging) add(took time.Duration) {
	j.Queries++
	j.Took += took
	for i, most := range j.Buckets() {
		if took <= most {
			j.Within[i]++
			return
		}
	}
}
