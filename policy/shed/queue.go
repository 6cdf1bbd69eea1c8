package shed

import "time"

// burst is how long a queue may stand before it counts as overload.
const burst = 100 * time.Millisecond

// none ends a list.
const none = -1

// Queue is waiting work, by priority. The caller bounds its size: see [Queue.Victim]. The zero value is empty. It is not
// safe for concurrent use.
//
// Places are numbered from 0 and reused; there are never more than the largest number of waiting pieces of work.
type Queue struct {
	places []place
	free   int // first free place, plus 1
	lines  [Tiers]line
	n      int
	since  time.Time // when it last became non-empty
}

type place struct {
	older, newer int
	tier         int8
	taken        bool
	deadline     time.Time
}

// line is one priority's work, oldest first. It has places plus 1; 0 means empty.
type line struct{ oldest, newest, n int }

// Len returns how much waits.
func (q *Queue) Len() int { return q.n }

// LenOf returns how much of p waits.
func (q *Queue) LenOf(p Priority) int { return q.lines[p.Tier()].n }

// Overloaded reports whether the queue has stood so long that the newest work goes first.
func (q *Queue) Overloaded(now time.Time) bool {
	return q.n > 0 && now.Sub(q.since) >= burst
}

// Ahead returns how much would start before work of p that comes at now.
func (q *Queue) Ahead(now time.Time, p Priority) int {
	tier, n := p.Tier(), 0
	for t := range tier {
		n += q.lines[t].n
	}
	if !q.Overloaded(now) {
		n += q.lines[tier].n
	}
	return n
}

// Push adds work and returns its place. A zero deadline means none.
func (q *Queue) Push(now time.Time, p Priority, deadline time.Time) int {
	if q.n == 0 {
		q.since = now
	}
	id := q.take()
	l := &q.lines[p.Tier()]
	q.places[id] = place{older: l.newest - 1, newer: none, tier: int8(p.Tier()), taken: true, deadline: deadline}
	if l.newest > 0 {
		q.places[l.newest-1].newer = id
	} else {
		l.oldest = id + 1
	}
	l.newest = id + 1
	l.n++
	q.n++
	return id
}

// take finds a free place.
func (q *Queue) take() int {
	if q.free == 0 {
		q.places = append(q.places, place{})
		return len(q.places) - 1
	}
	id := q.free - 1
	q.free = q.places[id].newer + 1
	return id
}

// Remove removes work. It does nothing if the place is free.
func (q *Queue) Remove(id int) {
	if id < 0 || id >= len(q.places) || !q.places[id].taken {
		return
	}
	p := q.places[id]
	l := &q.lines[p.tier]
	if p.older == none {
		l.oldest = p.newer + 1
	} else {
		q.places[p.older].newer = p.newer
	}
	if p.newer == none {
		l.newest = p.older + 1
	} else {
		q.places[p.newer].older = p.older
	}
	l.n--
	q.n--
	q.places[id] = place{newer: q.free - 1}
	q.free = id + 1
}

// Pop removes the next work, and reports whether it is late: nearer to its deadline than quick. Late work must not be
// started; call Pop again.
func (q *Queue) Pop(now time.Time, quick time.Duration) (id int, late, ok bool) {
	for t := range q.lines {
		l := &q.lines[t]
		if l.n == 0 {
			continue
		}
		id = l.oldest - 1
		if q.Overloaded(now) {
			id = l.newest - 1
		}
		late = Late(now, q.places[id].deadline, quick)
		q.Remove(id)
		return id, late, true
	}
	return none, false, false
}

// Victim returns the work that gives way in a full queue to work of p: the oldest of the lowest priority, if that is lower
// than p, or the same while the queue is overloaded.
func (q *Queue) Victim(now time.Time, p Priority) (id int, ok bool) {
	for t := Tiers - 1; t >= p.Tier(); t-- {
		if q.lines[t].n == 0 {
			continue
		}
		if t == p.Tier() && !q.Overloaded(now) {
			return none, false
		}
		return q.lines[t].oldest - 1, true
	}
	return none, false
}

// Late reports whether work that takes quick cannot be done by its deadline.
func Late(now, deadline time.Time, quick time.Duration) bool {
	return !deadline.IsZero() && deadline.Sub(now) < max(quick, 1)
}
