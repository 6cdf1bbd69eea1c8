package errlog

import (
	"cmp"
	"log/slog"
	"sync"
	"time"
)

// Config names the operation and the log. Only Log is required.
type Config struct {
	Log  *slog.Logger
	What string // that fails, such as: queue upkeep

	Every time.Duration // between two lines about failures; 0: a minute
	Calm  time.Duration // without a failure, until it is over; 0: 3 s
}

// Limiter logs the failures of one operation. Its methods may be called at the
// same time.
type Limiter struct {
	cfg Config

	mu       sync.Mutex // guards what follows; not held while logging
	failures int        // since it began; 0: all is well
	since    time.Time  // when it began
	last     time.Time  // the last failure
	told     time.Time  // the last line about a failure
	known    bool       // there was a line since it began
}

// New returns a Limiter without a failure.
func New(cfg Config) *Limiter {
	cfg.Every = cmp.Or(cfg.Every, time.Minute)
	cfg.Calm = cmp.Or(cfg.Calm, 3*time.Second)
	return &Limiter{cfg: cfg}
}

// Failed notes that something could not be done; it will be tried again.
func (t *Limiter) Failed(doing string, err error) {
	now := time.Now()
	t.mu.Lock()
	if t.failures == 0 {
		t.since = now
	}
	t.failures++
	t.last = now
	tell := t.told.IsZero() || now.Sub(t.told) >= t.cfg.Every
	first, failures, since := !t.known, t.failures, t.since
	if tell {
		t.told, t.known = now, true
	}
	t.mu.Unlock()
	switch {
	case !tell:
		t.cfg.Log.Debug(t.cfg.What+" failed", "doing", doing, "err", err)
	case first:
		t.cfg.Log.Error(t.cfg.What+" fails, and is tried again", "doing", doing, "err", err)
	default:
		t.cfg.Log.Error(t.cfg.What+" still fails", "for", now.Sub(since).Round(time.Second), "failures", failures, "doing", doing, "err", err)
	}
}

// Passed notes a success. The failures are over when there was none for a while:
// one success does not mean that everything works.
func (t *Limiter) Passed() {
	now := time.Now()
	t.mu.Lock()
	over := t.failures > 0 && now.Sub(t.last) >= t.cfg.Calm
	known, failures, lasted := t.known, t.failures, t.last.Sub(t.since)
	if over {
		t.failures, t.known = 0, false
	}
	t.mu.Unlock()
	if over && known {
		t.cfg.Log.Info(t.cfg.What+" works again", "failed_for", lasted.Round(time.Millisecond), "failures", failures)
	}
}
