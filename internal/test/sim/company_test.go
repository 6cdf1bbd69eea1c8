package sim

import "time"

// company is what died together on one lane worker, as in package dispatch: the few
// that are likely to be the killer run alone next; when they are not, all of it runs
// in company of half the size.
type company struct {
	since int64
	size  int
	alone int  // that have yet to run alone
	found bool // one of them was convicted, or was likely once more
}

const (
	gathering    = 300 * time.Millisecond
	maxCompanies = 64
)

// limit returns how much may run beside work of the company whose limit was so far.
func (g *company) limit(now int64, limit int) int {
	if g == nil || g.found || g.alone > 0 || now-g.since < int64(gathering) {
		return limit
	}
	half := max(1, g.size/2)
	if limit == 0 || half < limit {
		return half
	}
	return limit
}

// meet puts a request into the company that died on its worker.
func (w *world) meet(slot int32, epoch uint64, alone bool) {
	l, r := &w.lane, &w.requests[slot]
	g := l.companies[epoch]
	if g == nil {
		g = &company{since: w.now}
		if len(l.companies) >= maxCompanies {
			oldest := epoch
			for e := range l.companies {
				oldest = min(oldest, e)
			}
			delete(l.companies, oldest)
		}
		l.companies[epoch] = g
	}
	r.leaveCompany(alone)
	g.size++
	r.limit = r.group.limit(w.now, r.limit)
	r.group, r.suspectOf = g, nil
	if alone {
		g.alone++
		r.suspectOf, r.doubted = g, g
	}
}

// likely is the share of the blame for which it runs alone; 0 when it does not.
func (r *request) likely() float64 {
	if r.suspectOf == nil {
		return 0
	}
	return r.share
}

// leaveCompany notes what became of the request, if it was one of those that ran
// alone.
func (r *request) leaveCompany(killed bool) {
	if g := r.suspectOf; g != nil {
		r.suspectOf = nil
		g.alone--
		g.found = g.found || killed
	}
}
