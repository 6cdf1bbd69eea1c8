package guard

import (
	"strings"
	"time"
)

// maxMasked bounds what is shown of one query of a shape, in bytes, and
// largestMasked what is masked for that.
const (
	maxMasked     = 500
	largestMasked = 64 << 10
)

// Masking costs more than judging, and who makes up shapes must not have it done
// for each: so many a second, and so many at once.
const (
	masksPerSecond = 10
	maskBurst      = 100
)

// maskBudget bounds how often queries are masked. Its zero value is full.
type maskBudget struct {
	spent float64
	last  time.Time
}

func (b *maskBudget) take(now time.Time) bool {
	if !b.last.IsZero() {
		b.spent = max(0, b.spent-masksPerSecond*now.Sub(b.last).Seconds())
	}
	if b.last = now; b.spent+1 > maskBurst {
		return false
	}
	b.spent++
	return true
}

// showMasked shows a query without its values with its shape.
func (g *Guard) showMasked(q *Query, shape uint64) {
	if len(q.Body) > largestMasked {
		return
	}
	text := strings.Join(strings.Fields(g.config.Mask(q)), " ")
	if len(text) > maxMasked {
		text = text[:maxMasked] + "…"
	}
	text = strings.ToValidUTF8(text, "")
	g.counts.mu.Lock()
	defer g.counts.mu.Unlock()
	if s, ok := g.counts.shapes[shape]; ok {
		s.Query = text
	}
}
