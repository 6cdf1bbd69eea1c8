package dispatch

import (
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/policy/blame"
	"github.com/bezoar-dev/bezoar/policy/lane"
)

// company is work that died together on one lane worker. The few pieces that started last run alone next. If one of them is
// the killer, the others are as before. If not, the killer is slow, and they run in a company of half the size.
type company struct {
	since time.Time

	mu    sync.Mutex // guards what follows
	size  int
	alone int  // pieces that have yet to run alone
	found bool // one of them was convicted, or was the likely killer once more
}

// gathering is how long it may take until all of a company have come back.
const gathering = 300 * time.Millisecond

// limit returns how much may run together with work of the company. limit is the previous value.
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

// solved reports whether the killer among those that run alone has been found. Then the others need not run alone.
func (g *company) solved() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.found
}

// meet puts c into the company that died on its worker. alone says that c is one of those that run alone next.
func (d *Dispatcher) meet(c *call, epoch uint64, alone bool) {
	d.companies.mu.Lock()
	g := d.companies.byEpoch[epoch]
	if g == nil {
		g = &company{since: time.Now()}
		if len(d.companies.order) == maxCompanies {
			delete(d.companies.byEpoch, d.companies.order[0])
			d.companies.order = d.companies.order[1:]
		}
		d.companies.byEpoch[epoch], d.companies.last = g, g.since
		d.companies.order = append(d.companies.order, epoch)
	}
	d.companies.mu.Unlock()
	c.leaveCompany(alone) // it was likely twice, so the others of the first company did not kill
	g.mu.Lock()
	g.size++
	if alone {
		g.alone++
	}
	g.mu.Unlock()
	c.limit = c.group.limit(c.limit)
	c.group, c.suspectOf = g, nil
	if alone {
		c.suspectOf, c.doubted = g, g
	}
}

// doubtCompany records how likely the call killed a lane worker that it shared, and so how it runs again.
func (c *call) doubtCompany(f blame.Finding) {
	again := c.hold > 0
	c.single, c.hold, c.likely = false, 0, 0
	if f.Alone {
		c.likely = f.Share
		c.single, c.hold = lane.Doubt(f.Share, c.ran, again)
	}
}

// leaveCompany records the result of c, if it was one of those that ran alone. killed says that it was convicted, or that
// another lane worker has died and c is the likely cause.
func (c *call) leaveCompany(killed bool) {
	g := c.suspectOf
	if g == nil {
		return
	}
	c.suspectOf = nil
	g.mu.Lock()
	g.alone--
	g.found = g.found || killed
	g.mu.Unlock()
}

// maxCompanies bounds the remembered deaths in the lane.
const maxCompanies = 64

type companies struct {
	mu      sync.Mutex // guards what follows
	byEpoch map[uint64]*company
	order   []uint64
	last    time.Time // when the first of the latest company came back
}

// returnFor is how long the lane waits for work that has just died together, so that the likeliest killer goes first.
const returnFor = 30 * time.Millisecond

// returning returns how much longer the lane must wait.
func (cs *companies) returning(now time.Time) time.Duration {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return returnFor - now.Sub(cs.last)
}
