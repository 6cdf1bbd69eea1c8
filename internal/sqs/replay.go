package sqs

import (
	"slices"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// The bounds of what is remembered of receives by ReceiveRequestAttemptId.
const (
	replayFor   = 5 * time.Minute
	maxReplays  = 1024
	replayBytes = 16 << 20
)

// replays remembers what FIFO receives with a ReceiveRequestAttemptId returned,
// so that a client that never got the answer gets it again. The oldest are
// forgotten when there are too many.
type replays struct {
	mu    sync.Mutex // guards the rest
	known map[replayKey]*replay
	line  []*replay // oldest first; those replaced or dropped stay till their turn
	bytes int
}

type replayKey struct {
	queue int64
	id    string
}

type replay struct {
	key      replayKey
	until    time.Time
	messages []queue.Message
	bytes    int
}

func (r *replays) put(key replayKey, messages []queue.Message, now time.Time) {
	one := &replay{key: key, until: now.Add(replayFor), messages: messages}
	for i := range messages {
		one.bytes += len(messages[i].Body) + 512
	}
	if one.bytes > replayBytes {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(r.known[key])
	r.known[key] = one
	r.line = append(r.line, one)
	r.bytes += one.bytes
	for len(r.line) > maxReplays || r.bytes > replayBytes || now.After(r.line[0].until) {
		r.drop(r.line[0])
		r.line = slices.Delete(r.line, 0, 1)
	}
}

// drop forgets one, if it is still known.
func (r *replays) drop(one *replay) {
	if one == nil || r.known[one.key] != one {
		return
	}
	delete(r.known, one.key)
	r.bytes -= one.bytes
	one.messages = nil
}

func (r *replays) get(key replayKey, now time.Time) []queue.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.known[key]
	if one == nil || now.After(one.until) {
		return nil
	}
	return one.messages
}

func (r *replays) forget(key replayKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(r.known[key])
}

// replayed returns what an earlier receive with the same attempt id returned,
// with new leases, if all of it is still in that receive's hands.
func (c *call) replayed() ([]queue.Message, error) {
	if c.req.AttemptID == "" {
		return nil, nil
	}
	key := replayKey{c.queue.ID, c.req.AttemptID}
	messages := c.h.receives.get(key, time.Now())
	if len(messages) == 0 {
		return nil, nil
	}
	lease := c.queue.Settings.Visibility
	if c.req.Visibility.set {
		lease = time.Duration(c.req.Visibility.value) * time.Second
	}
	changes := make([]queue.VisibilityChange, len(messages))
	for i := range messages {
		changes[i] = queue.VisibilityChange{Receipt: messages[i].Receipt, Visibility: lease}
	}
	results, err := c.h.engine.ChangeVisibilityBatch(c.ctx, c.queue.Name, changes)
	if err != nil {
		return nil, err
	}
	var held []queue.Message
	for i, err := range results {
		if err == nil {
			held = append(held, messages[i])
			c.given = append(c.given, messages[i].Receipt)
		}
	}
	if len(held) < len(messages) {
		c.h.receives.forget(key)
	}
	return held, nil
}

// remember keeps what was received for replayed.
func (c *call) remember(messages []queue.Message) {
	if c.req.AttemptID != "" && len(messages) > 0 {
		c.h.receives.put(replayKey{c.queue.ID, c.req.AttemptID}, messages, time.Now())
	}
}
