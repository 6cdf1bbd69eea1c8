package guard

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// HistoryMinutes is the number of minutes in a history of costs.
const HistoryMinutes = 60

// history holds units per minute.
type history struct {
	minute int64 // the latest minute
	units  [HistoryMinutes]float32
}

func (h *history) add(minute int64, units float64) {
	h.turn(minute)
	h.units[h.minute%HistoryMinutes] += float32(units)
}

// turn advances the history to minute. If the clock went back, it keeps the latest minute,
// which then gets the new counts.
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

// list returns the units per minute, up to the given minute, which is the last entry.
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

// MaxCallerShapes is the maximum number of shapes counted per caller.
const MaxCallerShapes = 8

// CallerShape counts a caller's queries of one shape. If there is no room, a new shape
// replaces the one with the lowest cost, so counts may be too low.
type CallerShape struct {
	Shape    string  `json:"shape"`
	Queries  int64   `json:"queries"`
	Rejected int64   `json:"rejected"`
	Cost     float64 `json:"cost"` // sum in units
	MaxCost  float64 `json:"max_cost"`
}

type callerShape struct {
	CallerShape

	id uint64
}

// sent counts a query under its caller and shape.
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
	sorted.Func(out, func(a, b CallerShape) int { return cmp.Or(-cmp.Compare(a.Cost, b.Cost), cmp.Compare(a.Shape, b.Shape)) })
	return out
}

// Judging describes how long the judging of queries took.
type Judging struct {
	Queries int64                        `json:"queries"`
	Took    time.Duration                `json:"took"` // sum
	Within  [len(JudgingBuckets{})]int64 `json:"-"`    // not cumulative; slower queries than the last bound appear in Queries only
}

// JudgingBuckets are the upper bounds of Judging.Within.
type JudgingBuckets [7]time.Duration

// Buckets returns the upper bounds of Within.
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
