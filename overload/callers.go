package overload

// callers counts the work of each caller that has some here.
type callers map[uint64]int

// take adds one for the caller and reports its count, unless it has limit
// already.
func (c callers) take(caller uint64, limit int) (count int, ok bool) {
	count = c[caller]
	if count >= limit {
		return count, false
	}
	c[caller] = count + 1
	return count + 1, true
}

// drop takes one off.
func (c callers) drop(caller uint64) {
	if n := c[caller]; n > 1 {
		c[caller] = n - 1
		return
	}
	delete(c, caller)
}
