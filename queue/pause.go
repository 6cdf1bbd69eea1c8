package queue

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Pause stops the deliveries of a queue. Messages in flight go on, and sends are accepted.
type Pause struct {
	By     string    `json:"by,omitempty"`     // at most 256 bytes
	Reason string    `json:"reason,omitempty"` // at most 1,024 bytes
	Until  time.Time `json:"until,omitzero"`   // zero: until Resume
}

const (
	pauseMarks = "pause/"
	pauseFor   = 10 * 365 * 24 * time.Hour // of a pause without an end
)

func pauseKey(queue string) string { return pauseMarks + url.PathEscape(queue) }

// Pause stops the deliveries of a queue in every process, across restarts, until Resume or
// p.Until. It replaces an earlier pause.
func (e *Engine) Pause(ctx context.Context, queue string, p Pause) error {
	fail := func(err error) error { return wrap(err, "pause queue %.100q", queue) }
	ttl := pauseFor
	if !p.Until.IsZero() {
		ttl = time.Until(p.Until)
	}
	if ttl <= 0 || ttl > pauseFor {
		return fail(invalid("Until: %v is over, or more than %v away", p.Until, pauseFor))
	}
	if len(p.By) > 256 || len(p.Reason) > maxReason || !plain(p.By, p.Reason) {
		return fail(invalid("By, Reason: longer than 256 or %d bytes, holds a NUL, or is no UTF-8", maxReason))
	}
	if _, err := e.find(ctx, queue); err != nil {
		return fail(err)
	}
	doc, err := json.Marshal(p)
	if err == nil {
		err = e.store.DeleteMark(ctx, pauseKey(queue), 0)
	}
	if err == nil {
		_, err = e.store.PutMark(ctx, Mark{Key: pauseKey(queue), Doc: doc, TTL: ttl})
	}
	if err != nil {
		return fail(err)
	}
	e.pauses.mu.Lock()
	e.pauses.all[queue] = p
	e.pauses.mu.Unlock()
	e.hub.wakeAll()
	return nil
}

// letGo ends the pause of a queue if there is one, perhaps from another process a moment ago. If the store cannot delete
// the pause, it goes on.
func (e *Engine) letGo(ctx context.Context, queue string) error {
	if err := e.store.DeleteMark(ctx, pauseKey(queue), 0); err != nil {
		return err
	}
	e.pauses.mu.Lock()
	_, paused := e.pauses.all[queue]
	delete(e.pauses.all, queue)
	e.pauses.mu.Unlock()
	if paused {
		e.hub.wakeAll()
	}
	return nil
}

// pauseToo learns which queues others have paused.
func (e *Engine) pauseToo(marks []Mark) {
	now := make(map[string]Pause, len(marks))
	for _, m := range marks {
		name, err := url.PathUnescape(strings.TrimPrefix(m.Key, pauseMarks))
		var p Pause
		if err == nil && json.Unmarshal(m.Doc, &p) == nil {
			now[name] = p
		}
	}
	e.pauses.mu.Lock()
	e.pauses.all = now
	e.pauses.mu.Unlock()
}

// pauses are the paused queues that this process knows.
type pauses struct {
	mu  sync.Mutex // guards all
	all map[string]Pause
}

// on reports whether a queue is paused, and for at least how long.
func (p *pauses) on(queue string, now time.Time) (left time.Duration, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pause, ok := p.all[queue]; ok {
		return pause.on(now)
	}
	return 0, false
}

// on reports whether a pause goes on, and for at least how long.
func (p Pause) on(now time.Time) (left time.Duration, on bool) {
	if p.Until.IsZero() {
		return MaxWait, true
	}
	left = p.Until.Sub(now)
	return left, left > 0
}

func (p Pause) why() string {
	why := "an operator has paused it"
	if p.By != "" {
		why = p.By + " has paused it"
	}
	if p.Reason != "" {
		why += ": " + p.Reason
	}
	return why
}
