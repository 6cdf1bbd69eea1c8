package record

import (
	"fmt"
	"iter"

	"github.com/bezoar-dev/bezoar/flow"
)

// Slots gives slots to the attempts of one batch, in their order. Its zero value is
// ready; what was in use before is asked for once.
type Slots struct {
	pools, keys map[string]*int // in use
}

// Take reports whether there is room for an attempt in its pool and under its key,
// and takes that room.
func (s *Slots) Take(a flow.Attempt, pool, key func() (used int, err error)) (bool, error) {
	if s.pools == nil {
		s.pools, s.keys = make(map[string]*int), make(map[string]*int)
	}
	inPool, err := look(s.pools, a.Pool, pool)
	if err != nil || inPool != nil && *inPool+a.Slots > a.PoolSize {
		return false, err
	}
	ofKey, err := look(s.keys, a.Key, key)
	if err != nil || ofKey != nil && *ofKey >= a.Limit {
		return false, err
	}
	if inPool != nil {
		*inPool += a.Slots
	}
	if ofKey != nil {
		*ofKey++
	}
	return true, nil
}

// look returns what is in use of a name, nil for no name.
func look(all map[string]*int, name string, ask func() (int, error)) (*int, error) {
	if name == "" || all[name] != nil {
		return all[name], nil
	}
	used, err := ask()
	all[name] = &used
	return &used, err
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

// Orderable says why a run in this state takes no such order, and else whether the
// order opens it again.
func Orderable(s flow.RunState, v flow.Verb) (reopens bool, err error) {
	switch {
	case s == flow.RunRunning, s == flow.RunHeld:
		return false, nil
	case v == flow.VerbRetry && s != flow.RunSuccess:
		return true, nil
	default:
		return false, flow.ErrOver
	}
}
