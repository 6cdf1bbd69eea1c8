package record

import (
	"fmt"
	"iter"

	"github.com/bezoar-dev/bezoar/flow"
)

// Slots gives slots to the attempts of one batch, in their order. Its zero value is
// ready; what was in use before is asked for once.
type Slots struct {
	pools map[string]*places
	keys  map[string]*places
}

type places struct{ used, most int }

// Take reports whether there is room for an attempt in its pool and under its key,
// and takes that room.
func (s *Slots) Take(a flow.Attempt, pool func() (used, most int, err error), key func() (used int, err error)) (bool, error) {
	if s.pools == nil {
		s.pools, s.keys = make(map[string]*places), make(map[string]*places)
	}
	var of, by *places
	if a.Pool != "" {
		if of = s.pools[a.Pool]; of == nil {
			used, most, err := pool()
			if err != nil {
				return false, err
			}
			of = &places{used, most}
			s.pools[a.Pool] = of
		}
		if of.used+max(a.Slots, 1) > of.most {
			return false, nil
		}
	}
	if a.Key != "" {
		if by = s.keys[a.Key]; by == nil {
			used, err := key()
			if err != nil {
				return false, err
			}
			by = &places{used: used}
			s.keys[a.Key] = by
		}
		if by.used >= max(a.Limit, 1) {
			return false, nil
		}
		by.used++
	}
	if of != nil {
		of.used += max(a.Slots, 1)
	}
	return true, nil
}

// Touched are the runs that a batch changes, some of them more than once.
func Touched(b flow.Batch) iter.Seq[string] {
	return func(yield func(string) bool) {
		last := "" // most batches are of one run
		for id := range touches(b) {
			if id != last && !yield(id) {
				return
			}
			last = id
		}
	}
}

func touches(b flow.Batch) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, r := range b.Runs {
			if !yield(r.ID) {
				return
			}
		}
		for _, i := range b.Instances {
			if !yield(i.Run) {
				return
			}
		}
		for _, all := range [][]flow.Attempt{b.Begin, b.End} {
			for _, a := range all {
				if !yield(a.Run) {
					return
				}
			}
		}
	}
}

// RunLimit is how many runs a query wants, at most.
func RunLimit(q flow.RunQuery) (int, error) {
	if q.Limit < 0 || q.Limit > MaxLimit {
		return 0, fmt.Errorf("list runs: limit %d is not within 1 to %d", q.Limit, MaxLimit)
	}
	if q.Limit == 0 {
		return DefaultLimit, nil
	}
	return q.Limit, nil
}

// AttemptLimit is how many attempts a query wants, at most.
func AttemptLimit(q flow.AttemptQuery) (int, error) {
	if q.Limit < 0 {
		return 0, fmt.Errorf("list attempts: limit %d is negative", q.Limit)
	}
	if q.Limit == 0 {
		return 10_000, nil
	}
	return q.Limit, nil
}
