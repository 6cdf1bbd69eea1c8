package health

import (
	"context"
	"errors"
	"time"
)

// beat is how often calls are judged and the clock of the loops goes on.
const beat = time.Second

// Run makes the checks and judges the calls until ctx is done, and returns nil. Call it
// once. Before it returns it waits for running checks, up to their timeout; it does not
// wait for checks that ignore their context after that.
func (h *Health) Run(ctx context.Context) error {
	h.mu.Lock()
	if h.phase != fresh {
		h.mu.Unlock()
		return errors.New("health: Run was called before")
	}
	h.phase = starting
	h.mu.Unlock()
	timer := time.NewTimer(0)
	defer timer.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			h.end(timer)
			return nil
		case <-timer.C:
		case <-h.wake:
		}
		now := time.Now()
		beaten := now.Sub(last) >= beat
		if beaten {
			h.life.Add(int64(min(now.Sub(last), 2*beat)))
			last = now
		}
		next := h.step(ctx, now, beaten)
		timer.Reset(min(next.Sub(now), last.Add(beat).Sub(now)))
	}
}

// step does what is due and returns when more is.
func (h *Health) step(ctx context.Context, now time.Time, beaten bool) (next time.Time) {
	h.mu.Lock()
	if beaten || h.phase == starting {
		for _, d := range h.deps {
			h.judge(d, now)
		}
	}
	next = now.Add(beat)
	pending := false
	for _, p := range h.probes {
		if !p.due().After(now) {
			h.begin(ctx, p, now)
		}
		if due := p.due(); due.Before(next) {
			next = due
		}
		pending = pending || p.at.IsZero()
	}
	if h.phase == starting && !pending {
		h.phase = running
	}
	h.sum(now)
	changes := h.changes
	h.changes = nil
	h.mu.Unlock()
	h.tell(changes)
	return next
}

// end waits for looks that are under way.
func (h *Health) end(timer *time.Timer) {
	h.mu.Lock()
	h.phase = stopped
	h.mu.Unlock()
	for {
		now := time.Now()
		last := now // when the last of those that are out will be late
		h.mu.Lock()
		for _, p := range h.probes {
			if late := p.began.Add(p.timeout); p.out && late.After(last) {
				last = late
			}
		}
		h.mu.Unlock()
		if !last.After(now) {
			return
		}
		timer.Reset(last.Sub(now))
		select {
		case <-timer.C:
		case <-h.wake:
		}
	}
}
