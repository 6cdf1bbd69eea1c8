package errlog

import (
	"cmp"
	"log/slog"
	"sync"
	"time"
)

// Config configures a Limiter. Only Log is required.
type Config struct {
	Log  *slog.Logger
	What string // name of the operation, such as: queue upkeep

	Every time.Duration // between two lines about failures; 0: one minute
	Calm  time.Duration // time without a failure until the failures count as over; 0: 3 s
}

// Limiter logs the failures of one operation. It is safe for concurrent use.
type Limiter struct {
	cfg Config

	mu       sync.Mutex // guards the fields below; not held while logging
	failures int        // since the first one; 0: no failures
	since    time.Time  // time of the first failure
	last     time.Time  // time of the last failure
	told     time.Time  // time of the last line about a failure
	known    bool       // a line was logged since the first failure
}

// New returns a Limiter without a failure.
func New(cfg Config) *Limiter {
	cfg.Every = cmp.Or(cfg.Every, time.Minute)
	cfg.Calm = cmp.Or(cfg.Calm, 3*time.Second)
	return &Limiter{cfg: cfg}
}

// Failed records a failure of an operation that will be retried.
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
		t.cfg.Log.Error(t.cfg.What+" fails and will be tried again", "doing", doing, "err", err)
	default:
		t.cfg.Log.Error(t.cfg.What+" still fails", "for", now.Sub(since).Round(time.Second), "failures", failures, "doing", doing, "err", err)
	}
}

// Passed records a success. The failures count as over after some time without a failure,
// because one success does not prove that everything works.
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
