package guard

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// logBucket limits the rate of log lines, so that a flood of rejections does not flood the
// log.
type logBucket struct {
	log   *slog.Logger
	rate  float64
	burst float64
	slow  atomic.Int64 // nanoseconds
	text  atomic.Int64 // bytes

	mu      sync.Mutex // guards the fields below
	tokens  float64
	last    time.Time
	dropped int64 // since the last line
	lost    int64 // in total
}

func (b *logBucket) init(c Config) {
	b.log, b.rate, b.burst = c.Log, c.LogRate, float64(c.LogBurst)
	b.slow.Store(int64(c.SlowAfter))
	b.text.Store(int64(c.SlowText))
	b.tokens = b.burst
}

// SetSlow sets the duration above which a query is slow, and how many bytes of its text are
// logged. Zero values select the defaults.
func (g *Guard) SetSlow(after time.Duration, text int) error {
	c := Config{SlowAfter: after, SlowText: text}
	if err := c.Validate(); err != nil {
		return fmt.Errorf("set the time of slow queries: %w", err)
	}
	c.setDefaults()
	g.log.slow.Store(int64(c.SlowAfter))
	g.log.text.Store(int64(c.SlowText))
	return nil
}

// SlowText returns how many bytes of a slow query's text are logged.
func (g *Guard) SlowText() int { return int(g.log.text.Load()) }

func (b *logBucket) suppressed() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost
}

// take reports whether a line may be written, and how many lines were dropped since the
// last one.
func (b *logBucket) take(now time.Time) (ok bool, dropped int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.last.IsZero() {
		b.tokens = min(b.burst, b.tokens+now.Sub(b.last).Seconds()*b.rate)
	}
	b.last = now
	if b.tokens < 1 {
		b.dropped++
		b.lost++
		return false, 0
	}
	b.tokens--
	dropped, b.dropped = b.dropped, 0
	return true, dropped
}

// logVerdict logs the findings. It never logs the query, which may contain secrets.
func (g *Guard) logVerdict(q *Query, v *Verdict) {
	if g.log.log == nil || len(v.Findings) == 0 {
		return
	}
	ok, dropped := g.log.take(time.Now())
	if !ok {
		return
	}
	f := v.Findings[0]
	g.log.log.Info("query not accepted unchanged",
		"verdict", string(v.Verdict), "route", q.Route, "caller", q.Caller, "class", v.Class, "kind", string(q.Kind), "path", q.Path,
		"predictor", f.Predictor, "where", f.Path, "value", f.Value.String(), "limit", f.Limit.String(), "rule", f.Rule,
		"shape", shapeText(v.Shape), "cost", v.Cost, "version", v.Version, "override", v.Override,
		"request", q.Request, "lines_dropped", dropped)
}

// slow reports whether to log a query as slow.
func (g *Guard) slow(o *Observation) bool {
	return int64(o.Took) >= g.log.slow.Load() || o.Died
}

func (g *Guard) logSlow(o *Observation) {
	if g.log.log == nil {
		return
	}
	ok, dropped := g.log.take(time.Now())
	if !ok {
		return
	}
	attrs := []any{
		"route", o.Route, "caller", o.Caller, "class", o.Class, "shape", shapeText(o.Shape), "predictor", o.Predictor, "cost", o.Cost,
		"took", o.Took, "bytes", o.Bytes, "died", o.Died, "request", o.Request, "lines_dropped", dropped,
	}
	if o.query != "" {
		attrs = append(attrs, "query", o.query)
	}
	if most := g.SlowText(); most > 0 && len(o.Text) > 0 {
		attrs = append(attrs, "text", strings.ToValidUTF8(string(o.Text[:min(most, len(o.Text))]), "�"))
	}
	g.log.log.Info("slow query", attrs...)
}

func shapeText(s uint64) string { return fmt.Sprintf("%016x", s) }
