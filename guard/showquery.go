package guard

import (
	"strings"
	"time"
)

// maxShown is the maximum size in bytes of an example query, and largestShown the maximum
// size of a query that is processed for it.
const (
	maxShown     = 500
	largestShown = 64 << 10
)

// A caller who invents shapes must not cause an example for each. These constants limit the
// rate and the burst.
const (
	shownPerSecond = 10
	shownBurst     = 100
)

// showBudget limits how often examples are made. The zero value is full.
type showBudget struct {
	spent float64
	last  time.Time
}

func (b *showBudget) take(now time.Time) bool {
	if !b.last.IsZero() {
		b.spent = max(0, b.spent-shownPerSecond*now.Sub(b.last).Seconds())
	}
	if b.last = now; b.spent+1 > shownBurst {
		return false
	}
	b.spent++
	return true
}

// showQuery stores the query without its values as the example of its shape.
func (g *Guard) showQuery(q *Query, shape uint64) {
	if len(q.Body) > largestShown {
		return
	}
	text := strings.Join(strings.Fields(outline(q)), " ")
	if len(text) > maxShown {
		text = text[:maxShown] + "…"
	}
	text = strings.ToValidUTF8(text, "")
	g.counts.mu.Lock()
	defer g.counts.mu.Unlock()
	if s, ok := g.counts.shapes[shape]; ok {
		s.Query = text
	}
}
