package dispatch

import (
	"sync"
	"time"
)

// company is what died together on one lane worker. The few that started last run
// alone next. If one of them turns out to be the killer, the others are as before;
// if not, the killer is slow, and they run in company of half the size.
type company struct {
	since time.Time

	mu    sync.Mutex // guards what follows
	size  int
	alone int  // that have yet to run alone
	found bool // one of them was convicted
}

// gathering is how long it may take until all of a company have come back.
const gathering = 300 * time.Millisecond

// limit returns how much may run beside work of the company whose limit was so far.
func (g *company) limit(limit int) int {
	if g == nil {
		return limit
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.found || g.alone > 0 || time.Since(g.since) < gathering {
		return limit
	}
	half := max(1, g.size/2)
	if limit == 0 || half < limit {
		return half
	}
	return limit
}

// solved reports whether the killer among those that run alone has been found: the
// others need not any more.
func (g *company) solved() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.found
}

// meet puts c into the company that died on its worker. alone says that it is one
// of those that run alone next.
func (d *Dispatcher) meet(c *call, epoch uint64, alone bool) {
	d.companies.mu.Lock()
	g := d.companies.byEpoch[epoch]
	if g == nil {
		g = &company{since: time.Now()}
		if len(d.companies.order) == maxCompanies {
			delete(d.companies.byEpoch, d.companies.order[0])
			d.companies.order = d.companies.order[1:]
		}
		d.companies.byEpoch[epoch] = g
		d.companies.order = append(d.companies.order, epoch)
	}
	d.companies.mu.Unlock()
	c.leaveCompany(false)
	g.mu.Lock()
	g.size++
	if alone {
		g.alone++
	}
	g.mu.Unlock()
	c.limit = c.group.limit(c.limit)
	c.group, c.suspectOf = g, nil
	if alone {
		c.suspectOf = g
	}
}

// likely is c's share of the blame for which it runs alone; 0 when it does not.
func (c *call) likely() float64 {
	if c.suspectOf == nil {
		return 0
	}
	return c.share
}

// leaveCompany notes what became of c, if it was one of those that ran alone.
func (c *call) leaveCompany(convicted bool) {
	g := c.suspectOf
	if g == nil {
		return
	}
	c.suspectOf = nil
	g.mu.Lock()
	g.alone--
	g.found = g.found || convicted
	g.mu.Unlock()
}

// maxCompanies bounds the deaths in the lane that are told apart.
const maxCompanies = 64

// companies are the latest.
type companies struct {
	mu      sync.Mutex // guards what follows
	byEpoch map[uint64]*company
	order   []uint64
}
