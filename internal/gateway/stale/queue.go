package stale

import "cmp"

// The entries are in a queue from the oldest to the newest, as SIEVE needs: using an entry marks it and moves nothing
// (Zhang et al., "SIEVE is Simpler than LRU", NSDI 2024). The caller holds the lock.

func (c *Cache) push(e *entry) {
	c.entries[e.key] = e
	c.bytes += e.is.size
	e.older = c.newest
	if c.newest != nil {
		c.newest.newer = e
	} else {
		c.oldest = e
	}
	c.newest = e
}

// evict removes the next unmarked entry. The hand clears the marks that it passes, so an entry survives one pass after each
// use.
func (c *Cache) evict() {
	e := cmp.Or(c.hand, c.oldest)
	for e.visited {
		e.visited = false
		if e = e.newer; e == nil {
			e = c.oldest
		}
	}
	c.hand = e.newer
	c.remove(e)
	c.evicted++
}

func (c *Cache) remove(e *entry) {
	if e.newer != nil {
		e.newer.older = e.older
	} else {
		c.newest = e.older
	}
	if e.older != nil {
		e.older.newer = e.newer
	} else {
		c.oldest = e.newer
	}
	delete(c.entries, e.key)
	c.bytes -= e.is.size
}
