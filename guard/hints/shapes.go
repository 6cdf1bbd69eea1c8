package hints

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Fit is how well the cost of a shape was predicted. Means weigh what is recent.
type Fit struct {
	Shape     uint64        `json:"shape"`
	Seen      float64       `json:"seen"`      // answers, less what has decayed
	Predicted float64       `json:"predicted"` // mean of cost units
	Took      time.Duration `json:"took"`      // mean, by the backend's own words
	MaxTook   time.Duration `json:"max_took"`  // decays, too
	Buckets   float64       `json:"buckets"`   // mean
	TimedOut  float64       `json:"timed_out"` // answers, likewise
	Excess    float64       `json:"excess"`    // how many times longer than a unit takes on average; 1 is as predicted
}

// shape holds sums that halve every half-life.
type shape struct {
	at                                time.Time
	seen, units, ms, buckets, timeout float64
	most                              float64 // ms
}

type shapes struct {
	max      int
	halfLife time.Duration
	all      map[uint64]*shape
	total    shape
}

func (s *shape) decay(now time.Time, halfLife time.Duration) {
	if d := now.Sub(s.at); d > 0 && !s.at.IsZero() {
		f := math.Exp2(-d.Seconds() / halfLife.Seconds())
		s.seen, s.units, s.ms, s.buckets, s.timeout, s.most = s.seen*f, s.units*f, s.ms*f, s.buckets*f, s.timeout*f, s.most*f
	}
	s.at = now
}

func (s *shape) add(units float64, a Answer) {
	ms := float64(a.Took.Milliseconds())
	s.seen++
	s.units += units
	s.ms += ms
	s.buckets += a.Buckets
	s.most = max(s.most, ms)
	if a.TimedOut {
		s.timeout++
	}
}

func (t *shapes) add(now time.Time, id uint64, units float64, a Answer) {
	if !(units > 0 && units < 1e12) { // every query costs one
		units = 1
	}
	t.total.decay(now, t.halfLife)
	t.total.add(units, a)
	s := t.all[id]
	if s == nil {
		if len(t.all) >= t.max && !t.evict(now, a) {
			return
		}
		s = &shape{}
		t.all[id] = s
	}
	s.decay(now, t.halfLife)
	s.add(units, a)
}

// looked is how many shapes are compared to find one that makes room.
const looked = 8

// evict drops the one of a few that took least. One that took longer than the
// new answer stays.
func (t *shapes) evict(now time.Time, a Answer) bool {
	var victim uint64
	var least *shape
	n := 0
	for id, s := range t.all {
		s.decay(now, t.halfLife)
		if least == nil || s.ms < least.ms {
			victim, least = id, s
		}
		if n++; n == looked {
			break
		}
	}
	if least.ms > float64(a.Took.Milliseconds()) {
		return false
	}
	delete(t.all, victim)
	return true
}

func (t *shapes) fits(now time.Time, n int) []Fit {
	t.total.decay(now, t.halfLife)
	list := make([]Fit, 0, len(t.all))
	for id, s := range t.all {
		s.decay(now, t.halfLife)
		if s.seen == 0 {
			continue
		}
		f := Fit{
			Shape: id, Seen: s.seen, Predicted: s.units / s.seen, Took: ms(s.ms / s.seen), MaxTook: ms(s.most), Buckets: s.buckets / s.seen, TimedOut: s.timeout,
		}
		if t.total.ms > 0 && s.units > 0 {
			f.Excess = s.ms / s.units * t.total.units / t.total.ms
		}
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b Fit) int {
		return cmp.Or(-cmp.Compare(a.Excess, b.Excess), cmp.Compare(a.Shape, b.Shape))
	})
	return list[:max(0, min(n, len(list)))]
}

func ms(f float64) time.Duration { return time.Duration(min(f, 1e12) * float64(time.Millisecond)) }
