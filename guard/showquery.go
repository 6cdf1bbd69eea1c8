package guard

import (
	"strings"
	"time"
)

// maxShown bounds what is shown of one query of a shape, in bytes, and
// largestShown what is read for that.
const (
	maxShown     = 500
	largestShown = 64 << 10
)

// Who makes up shapes must not have a query written out for each: so many a
// second, and so many at once.
const (
	shownPerSecond = 10
	shownBurst     = 100
)

// showBudget bounds how often queries are written out. Its zero value is full.
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

// showQuery shows a query without its values with its shape.
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
