package budget

import "time"

// Table holds one budget for each of many callers. Create it with [NewTable]. The caller holds the lock.
//
// The number of callers is bounded. A caller that was granted a retry in the last ten seconds keeps its place: newcomers
// never displace it, so that many other callers cannot reset anybody's budget. While no place is free, newcomers share one
// budget. Callers without retries may lose their places, and with them the counted attempts: then they are granted fewer
// retries, never more.
type Table struct {
	size   int
	places []place
	index  map[uint64]int // index in places, by caller
	next   int            // where the next search for a place begins
	others Budget         // of all callers without a place
}

type place struct {
	caller uint64
	budget Budget
}

// probes bounds the search for a place.
const probes = 16

// NewTable returns a table for at most size callers, and at least one. A place takes about 300 bytes from its first use on.
func NewTable(cfg Config, size int) *Table {
	return &Table{size: max(size, 1), index: map[uint64]int{}, others: Budget{Config: cfg}}
}

// First counts a first attempt of the caller.
func (t *Table) First(now time.Time, caller uint64) { t.of(now, caller).First(now) }

// Retry takes one retry from the caller's budget, or returns false.
func (t *Table) Retry(now time.Time, caller uint64) bool { return t.of(now, caller).Retry(now) }

// Return gives back a retry that was taken at now and will not be made.
func (t *Table) Return(now time.Time, caller uint64) { t.of(now, caller).Return(now) }

// Len returns how many callers have a place.
func (t *Table) Len() int { return len(t.places) }

func (t *Table) of(now time.Time, caller uint64) *Budget {
	if i, ok := t.index[caller]; ok {
		return &t.places[i].budget
	}
	i := len(t.places)
	if i < t.size {
		t.places = append(t.places, place{})
	} else if i = t.vacant(now); i < 0 {
		return &t.others
	} else {
		delete(t.index, t.places[i].caller)
	}
	t.places[i] = place{caller: caller, budget: Budget{Config: t.others.Config}}
	t.index[caller] = i
	return &t.places[i].budget
}

// vacant returns the place of a caller without a recent retry, the least active of those that it examines, or -1.
func (t *Table) vacant(now time.Time) int {
	best, least := -1, 0.0
	for range min(probes, len(t.places)) {
		i := t.next
		t.next = (t.next + 1) % len(t.places)
		first, retries := t.places[i].budget.Recent(now)
		if retries == 0 && (best < 0 || first < least) {
			best, least = i, first
		}
		if best >= 0 && least == 0 {
			break
		}
	}
	return best
}
