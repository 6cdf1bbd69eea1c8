package accesslog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Defaults of [AccessLogConfig].
const (
	DefaultRate  = 100.0
	DefaultBurst = 1000
)

// maxLogged bounds every text in a line.
const maxLogged = 256

// Hasher hashes names of callers. [fingerprint.Printer] is one.
type Hasher interface {
	Client(id string) bezoar.Fingerprint
}

// Config says which requests are logged, and how. Only Log, or Combined in its place, is required.
type Config struct {
	Log *slog.Logger
	// Combined gets lines in the combined format of Apache and nginx, one Write each.
	Combined io.Writer
	// Details adds to Log what Combined has: address, protocol, user agent and, with Paths, the referring page.
	Details bool

	// Every logs every n-th of the requests that went well. Default 1: all of them; negative: none.
	Every int
	// Rate (per second, in the long run) and Burst (at once) bound the lines about all other requests. The next line says
	// how many were dropped. Default 100 and 1,000.
	Rate  float64
	Burst int

	// Callers are logged as hashes, which a Printer makes. Without one they are left out.
	Printer Hasher
	Clear   bool // log callers without hashing
	Paths   bool // log paths, without queries; they may name people
}

func (c Config) withDefaults() Config {
	c.Every = cmp.Or(c.Every, 1)
	c.Rate = cmp.Or(c.Rate, DefaultRate)
	c.Burst = cmp.Or(c.Burst, DefaultBurst)
	return c
}

// Validate reports every impossible field.
func (c Config) Validate() error {
	var errs faults.List
	switch {
	case c.Log == nil && c.Combined == nil:
		errs = append(errs, errors.New("Log is nil"))
	case c.Log != nil && c.Combined != nil:
		errs = append(errs, errors.New("Log and Combined are both set"))
	}
	errs.If(c.Rate < 0 || math.IsNaN(c.Rate) || math.IsInf(c.Rate, 0), "Rate is %g, want a number of lines a second", c.Rate)
	errs.If(c.Burst < 0, "Burst is %d, want 0 or more", c.Burst)
	return errors.Join(errs...)
}

// Log writes a line about each request that has ended. The line has nothing of a query or a body, and of headers only what
// Details and Combined add. Its Observe is a Config.Observe of the gateway. It is safe for concurrent use. A request that
// is not logged costs almost nothing.
type Log struct {
	cfg  Config
	good atomic.Uint64 // requests that went well

	mu     sync.Mutex // guards the bucket below
	tokens float64
	last   time.Time
	missed uint64 // dropped since the last line
}

// New returns an access log, or every fault of cfg.
func New(cfg Config) (*Log, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("access log: %w", err)
	}
	cfg = cfg.withDefaults()
	return &Log{cfg: cfg, tokens: float64(cfg.Burst)}, nil
}

// Observe logs r if Every, Rate and Burst allow it.
func (l *Log) Observe(r *Record) {
	level := levelOf(r)
	missed := uint64(0)
	if level == slog.LevelInfo {
		if n := l.good.Add(1); l.cfg.Every < 0 || (n-1)%uint64(l.cfg.Every) != 0 {
			return
		}
	} else {
		var ok bool
		if missed, ok = l.take(r.Time.Add(r.Duration)); !ok {
			return
		}
	}
	if l.cfg.Combined != nil {
		l.combined(r)
		return
	}
	ctx := context.Background()
	if l.cfg.Log.Enabled(ctx, level) {
		l.cfg.Log.LogAttrs(ctx, level, "request", l.attrs(r, missed)...)
	}
}

// levelOf returns Error for failed requests, Warn for refused ones and for answers that did not reach the caller, and Info
// for all others, including the caller's own mistakes.
func levelOf(r *Record) slog.Level {
	switch {
	case r.Rule == "" && r.Status >= 500:
		return slog.LevelError
	case r.Rule != "" || r.Fallback != "" || r.Cut || r.Status >= 500 || r.Status == 429:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// take takes a token, and returns how many requests were dropped since the last token.
func (l *Log) take(now time.Time) (missed uint64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d := now.Sub(l.last); d > 0 {
		l.tokens = min(l.tokens+d.Seconds()*l.cfg.Rate, float64(l.cfg.Burst))
		l.last = now
	}
	if l.tokens < 1 {
		l.missed++
		return 0, false
	}
	l.tokens--
	missed, l.missed = l.missed, 0
	return missed, true
}

func (l *Log) attrs(r *Record, missed uint64) []slog.Attr {
	attrs := make([]slog.Attr, 0, 24)
	text := func(key, v string) {
		if v != "" {
			attrs = append(attrs, slog.String(key, v[:min(len(v), maxLogged)]))
		}
	}
	ms := func(key string, d time.Duration) {
		if d > 0 {
			attrs = append(attrs, slog.Float64(key, float64(d.Microseconds())/1000))
		}
	}
	text("request", r.RequestID)
	text("trace", r.TraceID)
	text("span", r.SpanID)
	text("route", r.Route)
	text("method", r.Method)
	if l.cfg.Paths {
		text("path", r.Path)
	}
	attrs = append(attrs, slog.Int("status", r.Status), slog.Int64("bytes_in", r.BytesIn), slog.Int64("bytes_out", r.BytesOut))
	ms("duration_ms", r.Duration)
	ms("waited_ms", r.Waited)
	ms("ttfb_ms", r.TTFB)
	attrs = append(attrs, slog.Int("attempts", r.Attempts))
	text("worker", r.Worker)
	if r.Lane {
		attrs = append(attrs, slog.Bool("lane", true))
	}
	if r.Cut {
		attrs = append(attrs, slog.Bool("cut", true))
	}
	text("rule", r.Rule)
	text("fallback", r.Fallback)
	text("plan", r.Plan)
	text("caller", l.caller(r.Caller))
	if r.Cost != 0 {
		attrs = append(attrs, slog.Int64("cost", r.Cost))
	}
	if l.cfg.Details && r.From != nil {
		text("remote", l.remote(r))
		text("protocol", r.From.Protocol())
		text("host", r.Host)
		text("user_agent", r.said("user-agent"))
		if l.cfg.Paths {
			text("referer", r.referer())
		}
	}
	if missed > 0 {
		attrs = append(attrs, slog.Uint64("unlogged", missed))
	}
	return attrs
}

func (l *Log) caller(id string) string {
	switch {
	case l.cfg.Clear || id == "":
		return id
	case l.cfg.Printer == nil:
		return ""
	}
	return l.cfg.Printer.Client(id).String()
}
