package outbox

import (
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// counts collects the statistics of a relay.
type counts struct {
	mu     sync.Mutex // guards the fields below
	of     Stats
	topics map[string]*TopicStats
	waits  map[string]time.Time // ready topics, each with the time of its last settlement
}

func newCounts() *counts {
	return &counts{topics: make(map[string]*TopicStats), waits: make(map[string]time.Time)}
}

func (c *counts) stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.of
	for _, t := range c.topics {
		s.Topics = append(s.Topics, *t)
	}
	sorted.Func(s.Topics, func(a, b TopicStats) int { return strings.Compare(a.Topic, b.Topic) })
	return s
}

func (c *counts) owner(l Lease, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of.Leader, c.of.Owner = mine, l.Owner
	clear(c.waits)
	if mine {
		c.of.Epoch = l.Epoch
	}
}

func (c *counts) led() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of.Leader = false
}

func (c *counts) topic(name string) *TopicStats {
	t := c.topics[name]
	if t == nil {
		t = &TopicStats{Topic: name}
		c.topics[name] = t
	}
	return t
}

// settled counts the results of a batch.
func (c *counts) settled(topic, sink string, v verdict, age time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.topic(topic)
	t.Sink, t.Batches, t.Delivered, t.Bytes, t.Age = sink, t.Batches+1, t.Delivered+int64(v.worth), t.Bytes+v.bytes, age
	c.failed(t, v.done)
	if _, waits := c.waits[topic]; waits {
		c.waits[topic] = time.Now()
	}
}

func (c *counts) failed(t *TopicStats, done *Settlement) {
	for _, f := range done.Failed {
		switch {
		case f.Parked:
			t.Parked++
			t.Failed++
		case f.Blamed > 0:
			t.Failed++
		default:
			t.PutOff++
		}
	}
}

func (c *counts) lost(topic string, done *Settlement) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of.Lost++
	c.failed(c.topic(topic), done)
}

// polled records which topics are ready and whose sinks do not pause. It returns the topics
// without a settlement for longer than long.
func (c *counts) polled(ready []string, long time.Duration) (stalled []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of.Polls++
	now, before := time.Now(), c.waits
	c.waits = make(map[string]time.Time, len(ready))
	for _, topic := range ready {
		since, waited := before[topic]
		if !waited {
			since = now
		}
		if c.waits[topic] = since; now.Sub(since) > long {
			stalled = append(stalled, topic)
		}
	}
	return stalled
}

func (c *counts) unrouted(topic string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.topic(topic).Sink = ""
}

func (c *counts) fed(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of.Fed += int64(n)
}

func (c *counts) hit(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of.Hits += int64(n)
}
