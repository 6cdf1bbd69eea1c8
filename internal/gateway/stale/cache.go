package stale

import (
	"sync"
	"sync/atomic"
	"time"
)

// overhead is the memory of an answer in addition to its body and its header's text.
const overhead = 256

// Cache keeps answers by key. It is safe for concurrent use.
type Cache struct {
	config    Config
	recording atomic.Int64 // bytes that recorders hold
	refused   [reasons]atomic.Uint64
	hits      atomic.Uint64
	misses    atomic.Uint64

	mu      sync.Mutex // guards what follows
	entries map[[16]byte]*entry
	newest  *entry // of the queue: entries in the order of arrival
	oldest  *entry
	hand    *entry // the next entry to examine for eviction; nil: oldest
	bytes   int64
	evicted uint64
}

// entry is the place of a key in the queue.
type entry struct {
	key          [16]byte
	is           *kept
	newer, older *entry
	visited      bool // used since the hand was here
}

// kept is one answer. It never changes, so that readers need no copy.
type kept struct {
	answer Answer
	at     time.Time
	age    time.Duration // its age at at
	limit  time.Duration // the largest age at which it may be shown
	size   int64
}

// New returns an empty cache. An invalid Config is replaced by the zero one.
func New(cfg Config) *Cache {
	if cfg.Validate() != nil {
		cfg = Config{}
	}
	return &Cache{config: cfg.WithDefaults(), entries: make(map[[16]byte]*entry)}
}

// Put keeps a copy of a, or returns why not. It replaces an older answer of the key.
func (c *Cache) Put(key [16]byte, a Answer, now time.Time) Reason {
	r := c.record(key, a)
	if r.length < 0 {
		r.length = int64(len(a.Body))
	}
	_, _ = r.Write(a.Body) // cannot fail
	return r.Commit(now)
}

// Get returns the answer for key and its age, unless it is older than maxAge (0: no limit) or than its own limit.
func (c *Cache) Get(key [16]byte, now time.Time, maxAge time.Duration) (a Answer, age time.Duration, ok bool) {
	var is *kept
	c.mu.Lock()
	if e := c.entries[key]; e != nil {
		is, e.visited = e.is, true
	}
	c.mu.Unlock()
	if is != nil {
		age = is.age + max(now.Sub(is.at), 0)
		if age <= is.limit && (maxAge <= 0 || age <= maxAge) {
			c.hits.Add(1)
			return is.answer, age, true
		}
	}
	c.misses.Add(1)
	return Answer{}, 0, false
}

// fresh reports whether there is a copy that need not be recorded again.
func (c *Cache) fresh(key [16]byte, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e == nil || now.Sub(e.is.at) >= c.config.Refresh {
		return false
	}
	e.visited = true
	return true
}

// insert stores is for key, and evicts others until there is room.
func (c *Cache) insert(key [16]byte, is *kept) Reason {
	c.mu.Lock()
	defer c.mu.Unlock()
	if was := c.entries[key]; was != nil {
		if is.at.Before(was.is.at) {
			return Older
		}
		was.visited = true // its key is used repeatedly
	}
	for !c.fits(key, is) {
		c.evict()
	}
	if was := c.entries[key]; was != nil {
		c.bytes += is.size - was.is.size
		was.is = is
		return Kept
	}
	c.push(&entry{key: key, is: is})
	return Kept
}

// fits reports whether there is room for is, if it replaces its key's answer.
func (c *Cache) fits(key [16]byte, is *kept) bool {
	bytes, entries := c.bytes+is.size, len(c.entries)+1
	if was := c.entries[key]; was != nil {
		bytes -= was.is.size
		entries--
	}
	return bytes <= c.config.MaxBytes && entries <= c.config.MaxEntries
}

// Stats are the counters of a cache.
type Stats struct {
	Entries   int
	Bytes     int64
	Recording int64 // bytes of answers that are being recorded
	Hits      uint64
	Misses    uint64
	Evicted   uint64
	Refused   map[string]uint64 // answers that were not kept, by the name of the Reason
}

func (c *Cache) Stats() Stats {
	s := Stats{Recording: c.recording.Load(), Hits: c.hits.Load(), Misses: c.misses.Load(), Refused: make(map[string]uint64)}
	for r := range c.refused {
		if n := c.refused[r].Load(); n > 0 {
			s.Refused[Reason(r).String()] = n
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Entries, s.Bytes, s.Evicted = len(c.entries), c.bytes, c.evicted
	return s
}
