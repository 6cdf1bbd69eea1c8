package queue

import (
	"context"
	"sync"
	"time"
)

// These constants bound the cached answers. Beyond them, a repeated receive is a new one; the old messages come back when
// their leases end.
const (
	maxReplays     = 10_000
	maxReplayBytes = 64 << 20
	replayFor      = 5 * time.Minute
)

// replays are the answers to receives with an Attempt.
type replays struct {
	mu    sync.Mutex // guards all below; never held while waiting
	kept  map[replayKey]*replay
	order []replayKey
	bytes int
}

type replayKey struct {
	queue   int64
	attempt string
}

type replay struct {
	until    time.Time
	bytes    int
	messages []Message
}

func newReplays() *replays { return &replays{kept: make(map[replayKey]*replay)} }

func (r *replays) keep(k replayKey, messages []Message, now time.Time) {
	size := 0
	for i := range messages {
		size += len(messages[i].Body) + 512
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(k)
	for len(r.order) > 0 {
		oldest := r.kept[r.order[0]]
		if oldest != nil && oldest.until.After(now) && len(r.order) < maxReplays && r.bytes+size <= maxReplayBytes {
			break
		}
		r.drop(r.order[0])
		r.order = r.order[1:]
	}
	if size > maxReplayBytes {
		return
	}
	r.kept[k] = &replay{until: now.Add(replayFor), bytes: size, messages: messages}
	r.order = append(r.order, k)
	r.bytes += size
}

func (r *replays) drop(k replayKey) {
	if old := r.kept[k]; old != nil {
		r.bytes -= old.bytes
		delete(r.kept, k)
	}
}

func (r *replays) find(k replayKey, now time.Time) []Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.kept[k]; found != nil && found.until.After(now) {
		return found.messages
	}
	return nil
}

// again returns the messages of an earlier answer whose deliveries go on, with new leases.
func (e *Engine) again(ctx context.Context, q *Queue, p Policy, attempt string, lease time.Duration) ([]Message, error) {
	if attempt == "" {
		return nil, nil
	}
	now := time.Now()
	messages := e.replays.find(replayKey{q.ID, attempt}, now)
	if len(messages) == 0 || lease == 0 {
		return nil, nil
	}
	changes := make([]Change, len(messages))
	for i := range messages {
		changes[i] = Change{Receipt: messages[i].Receipt, For: lease}
	}
	results, err := e.store.Change(ctx, q.ID, p, changes)
	if err != nil {
		return nil, err
	}
	var still []Message
	for i, err := range results {
		if err == nil {
			m := messages[i]
			m.VisibleAt = now.Add(lease)
			still = append(still, m)
			e.holdings.extend(m.Receipt, m.VisibleAt)
		}
	}
	return still, nil
}
