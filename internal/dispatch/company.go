package dispatch

import (
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/policy/blame"
	"github.com/bezoar-dev/bezoar/policy/lane"
)

// company is what died together on one lane worker. The few that started last run
// alone next. If one of them turns out to be the killer, the others are as before;
// if not, the killer is slow, and they run in company of half the size.
type company struct {
	since time.Time

	mu    sync.Mutex // guards what follows
	size  int
	alone int  // that have yet to run alone
	found bool // one of them was convicted, or was likely once more
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
		d.companies.byEpoch[epoch], d.companies.last = g, g.since
		d.companies.order = append(d.companies.order, epoch)
	}
	d.companies.mu.Unlock()
	c.leaveCompany(alone) // it was likely twice: the others of the first company did not kill
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

// doubtCompany notes how likely the call killed a lane worker on which it was not
// alone, and so how it runs again.
func (c *call) doubtCompany(f blame.Finding) {
	again := c.hold > 0
	c.single, c.hold, c.likely = false, 0, 0
	if f.Alone {
		c.likely = f.Share
		c.single, c.hold = lane.Doubt(f.Share, c.ran, again)
	}
}

// leaveCompany notes what became of c, if it was one of those that ran alone. killed says
// that it was convicted, or that one more lane worker has died most likely of it.
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

// maxCompanies bounds the deaths in the lane that are told apart.
const maxCompanies = 64

// companies are the latest.
type companies struct {
	mu      sync.Mutex // guards what follows
	byEpoch map[uint64]*company
	order   []uint64
	last    time.Time // when the first of the latest came back
}

// returnFor is how long the lane waits for those that have just died together, so that
// the likeliest of them goes first.
const returnFor = 30 * time.Millisecond

// returning is how long it is to wait yet.
func (cs *companies) returning(now time.Time) time.Duration {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return returnFor - now.Sub(cs.last)
}
