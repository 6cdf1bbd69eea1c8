package overload

// callers counts the work of each caller that has some here: a hash table with
// linear probing, since a map's churn would allocate. It is never more than half
// full, and at least an eighth unless it is small.
type callers struct {
	slots []callerSlot // a power of two; nil at first
	n     int
}

type callerSlot struct {
	caller uint64 // 0: free
	count  int32
}

const fewCallers = 64

// take adds one for the caller and reports its count, unless it has limit
// already.
func (c *callers) take(caller uint64, limit int) (count int, ok bool) {
	if 2*(c.n+1) > len(c.slots) {
		c.resize(max(2*len(c.slots), fewCallers))
	}
	s := &c.slots[c.find(caller)]
	if int(s.count) >= limit {
		return int(s.count), false
	}
	if s.count == 0 {
		s.caller = caller
		c.n++
	}
	s.count++
	return int(s.count), true
}

func (c *callers) count(caller uint64) int {
	if len(c.slots) == 0 {
		return 0
	}
	return int(c.slots[c.find(caller)].count)
}

// drop takes one off.
func (c *callers) drop(caller uint64) {
	if len(c.slots) == 0 {
		return
	}
	i := c.find(caller)
	s := &c.slots[i]
	if s.count == 0 {
		return
	}
	if s.count--; s.count > 0 {
		return
	}
	c.n--
	c.remove(i)
	if len(c.slots) > fewCallers && 8*c.n < len(c.slots) {
		c.resize(len(c.slots) / 2)
	}
}

// find is where the caller is, or belongs.
func (c *callers) find(caller uint64) int {
	i := c.home(caller)
	for c.slots[i].count != 0 && c.slots[i].caller != caller {
		i = (i + 1) & (len(c.slots) - 1)
	}
	return i
}

func (c *callers) home(caller uint64) int {
	return int((caller*0x9e3779b97f4a7c15)>>32) & (len(c.slots) - 1)
}

// remove frees slot i and moves up what probing would no longer find.
func (c *callers) remove(i int) {
	mask := len(c.slots) - 1
	for j := i; ; {
		c.slots[i] = callerSlot{}
		for {
			j = (j + 1) & mask
			if c.slots[j].count == 0 {
				return
			}
			if home := c.home(c.slots[j].caller); (j-home)&mask >= (j-i)&mask {
				break
			}
		}
		c.slots[i] = c.slots[j]
		i = j
	}
}

func (c *callers) resize(size int) {
	old := c.slots
	c.slots = make([]callerSlot, size)
	for _, s := range old {
		if s.count != 0 {
			c.slots[c.find(s.caller)] = s
		}
	}
}
