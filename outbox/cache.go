package outbox

import (
	"context"
	"sync"
	"time"
)

// cache keeps the records that a feed delivers until they are sent. When it is full, it
// drops the oldest records; the relay then reads them from the tables.
type cache struct {
	limit int64

	mu     sync.Mutex // guards the fields below
	of     map[int64]Record
	order  []int64 // positions in order of arrival; some records may be gone
	bytes  int64
	topics map[string]int // number of records per topic
	room   chan struct{}  // closed when records leave
	stuck  bool           // a put waited for room in vain, and no record has left since
}

func newCache(limit int64) *cache {
	return &cache{limit: limit, of: make(map[int64]Record), topics: make(map[string]int), room: make(chan struct{})}
}

func size(r Record) int64 { return int64(len(r.Payload) + len(r.Key) + 256) }

// put adds records. If the cache is full, put waits a short time, but only while records
// leave: a feed must not block while a sink pauses.
func (c *cache) put(ctx context.Context, records []Record) {
	const moment = 50 * time.Millisecond
	c.mu.Lock()
	full, room := c.bytes >= c.limit && !c.stuck, c.room
	c.mu.Unlock()
	vain := false
	if full {
		select {
		case <-room:
		case <-time.After(moment):
			vain = true
		case <-ctx.Done():
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stuck = c.stuck || vain
	for _, r := range records {
		if _, there := c.of[r.Position]; there {
			continue
		}
		c.of[r.Position] = r
		c.order = append(c.order, r.Position)
		c.bytes += size(r)
		c.topics[r.Topic]++
	}
	for c.bytes > c.limit {
		c.remove(c.order[0])
		c.order = c.order[1:]
	}
	for len(c.order) > 0 && len(c.order) > 2*len(c.of)+64 {
		kept := c.order[:0]
		for _, p := range c.order {
			if _, there := c.of[p]; there {
				kept = append(kept, p)
			}
		}
		c.order = kept
	}
}

func (c *cache) remove(position int64) (r Record, ok bool) {
	if r, ok = c.of[position]; !ok {
		return r, false
	}
	delete(c.of, position)
	c.bytes -= size(r)
	if c.topics[r.Topic]--; c.topics[r.Topic] == 0 {
		delete(c.topics, r.Topic)
	}
	return r, true
}

// take removes and returns the records of refs that are in the cache. missing lists the
// refs of the others.
func (c *cache) take(refs []Ref) (found []Record, missing []Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ref := range refs {
		if r, ok := c.remove(ref.Position); ok {
			r.Attempts = ref.Attempts
			found = append(found, r)
		} else {
			missing = append(missing, ref)
		}
	}
	if len(found) > 0 {
		c.stuck = false
		close(c.room)
		c.room = make(chan struct{})
	}
	return found, missing
}

// has reports whether the cache holds a record of the topic.
func (c *cache) has(topic string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.topics[topic] > 0
}
