package guard

import (
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// logBucket is a token bucket over a log: a flood of refusals must not become a
// flood of lines.
type logBucket struct {
	log   *slog.Logger
	rate  float64
	burst float64
	slow  time.Duration

	mu      sync.Mutex // guards what follows
	tokens  float64
	last    time.Time
	dropped int64
}

func (b *logBucket) init(c Config) {
	b.log, b.rate, b.burst, b.slow = c.Log, c.LogRate, float64(c.LogBurst), c.SlowAfter
	b.tokens = b.burst
}

// take reports whether a line may be written, and how many were not since the
// last.
func (b *logBucket) take(now time.Time) (ok bool, dropped int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.last.IsZero() {
		b.tokens = min(b.burst, b.tokens+now.Sub(b.last).Seconds()*b.rate)
	}
	b.last = now
	if b.tokens < 1 {
		b.dropped++
		return false, 0
	}
	b.tokens--
	dropped, b.dropped = b.dropped, 0
	return true, dropped
}

// logVerdict writes what was found, never the query: it may hold secrets.
func (g *Guard) logVerdict(q *Query, v *Verdict) {
	if g.log.log == nil || len(v.Findings) == 0 {
		return
	}
	ok, dropped := g.log.take(time.Now())
	if !ok {
		return
	}
	f := v.Findings[0]
	g.log.log.Info("query not accepted as it is",
		"verdict", string(v.Verdict), "caller", q.Caller, "class", v.Class, "kind", string(q.Kind), "path", q.Path,
		"predictor", f.Predictor, "where", f.Path, "value", f.Value.String(), "limit", f.Limit.String(), "rule", f.Rule,
		"shape", shapeText(v.Shape), "cost", v.Cost, "version", v.Version, "override", v.Override, "lines_dropped", dropped)
}

func (g *Guard) logSlow(o Observation) {
	if g.log.log == nil || o.Took < g.log.slow && !o.Died {
		return
	}
	if ok, dropped := g.log.take(time.Now()); ok {
		g.log.log.Info("slow query", "caller", o.Caller, "shape", shapeText(o.Shape), "took", o.Took, "bytes", o.Bytes, "died", o.Died, "lines_dropped", dropped)
	}
}

func shapeText(s uint64) string { return fmt.Sprintf("%016x", s) }
