package memory

import (
	"slices"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/queue/lease"
	"github.com/bezoar-dev/bezoar/queue"
)

// message is one message with its place in every ordering.
type message struct {
	lease.Lease
	seq     int64
	id      string
	entry   queue.SendInput
	dedup   string
	group   string // in a FIFO queue, the group that it may lock; otherwise empty
	since   int64  // start of its retention
	letter  *queue.Letter
	lineage *queue.Lineage
	bucket  *bucket // nil: removed
	readyAt int
	dueAt   int
}

// bucket is the content of a queue. A purge starts a new bucket.
type bucket struct {
	id    int64
	queue *definition // nil: purged or deleted
	rows  map[int64]*message
	order []*message // by seq; removed messages stay until there are many
	ready [queue.MaxPriority + 1]schedule
	// groups of a FIFO queue, each by seq.
	groups map[string][]*message
	flying map[bezoar.Fingerprint]map[*message]bool // leased messages; the lease may have expired
	line   []string                                 // groups, in the order of their first message
}

func newBucket(id int64, d *definition) *bucket {
	b := &bucket{id: id, queue: d, rows: make(map[int64]*message), groups: make(map[string][]*message), flying: make(map[bezoar.Fingerprint]map[*message]bool)}
	for i := range b.ready {
		b.ready[i] = schedule{
			when:  func(m *message) int64 { return m.Visible },
			place: func(m *message) *int { return &m.readyAt },
		}
	}
	return b
}

func (s *queueStore) add(b *bucket, m *message) {
	s.sequence++
	m.seq, m.bucket, m.readyAt, m.dueAt, m.Letter = s.sequence, b, absent, absent, m.letter != nil
	b.rows[m.seq] = m
	b.order = append(b.order, m)
	if m.group != "" {
		if len(b.groups[m.group]) == 0 {
			b.line = append(b.line, m.group)
		}
		b.groups[m.group] = append(b.groups[m.group], m)
	}
	s.place(m)
}

// place puts a message where its lease requires.
func (s *queueStore) place(m *message) {
	if m.group == "" {
		ready := &m.bucket.ready[m.entry.Priority]
		if m.Due == 0 {
			ready.put(m)
		} else {
			ready.remove(m)
		}
	}
	if m.Due != 0 {
		s.due.put(m)
	} else {
		s.due.remove(m)
	}
	m.bucket.fly(m, m.Hold == lease.Leased)
}

func (b *bucket) fly(m *message, leased bool) {
	if m.Payload.IsZero() || m.Letter {
		return
	}
	copies := b.flying[m.Payload]
	switch {
	case !leased:
		if delete(copies, m); len(copies) == 0 {
			delete(b.flying, m.Payload)
		}
	case copies == nil:
		b.flying[m.Payload] = map[*message]bool{m: true}
	default:
		copies[m] = true
	}
}

// copies returns the other leased messages with the same payload.
func (b *bucket) copies(m *message) (found []*message) {
	for other := range b.flying[m.Payload] {
		if other != m {
			found = append(found, other)
		}
	}
	return found
}

func (s *queueStore) remove(m *message) {
	b := m.bucket
	delete(b.rows, m.seq)
	b.ready[m.entry.Priority].remove(m)
	s.due.remove(m)
	b.fly(m, false)
	m.bucket = nil
	if m.group != "" {
		left := b.groups[m.group]
		i := slices.Index(left, m)
		if left = slices.Delete(left, i, i+1); len(left) == 0 {
			delete(b.groups, m.group)
			b.line = slices.DeleteFunc(b.line, func(g string) bool { return g == m.group })
		} else {
			b.groups[m.group] = left
		}
	}
	if len(b.order) > 64 && len(b.order) > 2*len(b.rows) {
		b.order = slices.DeleteFunc(b.order, func(m *message) bool { return m.bucket == nil })
	}
}

// drop removes a whole bucket.
func (s *queueStore) drop(b *bucket) {
	for _, m := range b.rows {
		s.due.remove(m)
		s.ended(m, false)
		m.bucket = nil
	}
	b.queue.bucket, b.queue = nil, nil
}

// look is the result of examining a visible message.
type look int

const (
	took    look = iota // delivered
	took1               // delivered, and it must be the only one
	gone                // no longer available
	blocked             // it stays, and blocks the later messages of its group
)

// visible offers messages for a lease now, until n are taken. It returns when the next
// message becomes visible by time.
func (b *bucket) visible(fifo bool, now int64, n int, each func(*message) look) (next int64) {
	if fifo {
		return b.visibleInGroups(now, n, each)
	}
	next = -1
	for p := len(b.ready) - 1; p >= 0; p-- {
		var again []*message // examined messages, not to be offered twice in one call
		for n > 0 {
			m := b.ready[p].first()
			if m == nil || m.Visible > now {
				break
			}
			b.ready[p].remove(m)
			again = append(again, m)
			switch each(m) {
			case took:
				n--
			case took1:
				n = 0
			case gone, blocked:
			}
			b.ready[p].remove(m)
		}
		if m := b.ready[p].first(); m != nil && (next < 0 || m.Visible < next) {
			next = m.Visible
		}
		for _, m := range again {
			if m.bucket != nil && m.Due == 0 {
				b.ready[p].put(m)
			}
		}
	}
	return next
}

func (b *bucket) visibleInGroups(now int64, n int, each func(*message) look) (next int64) {
	next = -1
	for _, g := range slices.Clone(b.line) {
		for _, m := range slices.Clone(b.groups[g]) {
			if m.bucket != nil && m.Locks(now) { // no message overtakes it
				next = earlier(next, m.Visible)
				break
			}
			if m.bucket == nil || m.Due != 0 { // it has left, or is about to leave
				continue
			}
			if m.Visible > now {
				next = earlier(next, m.Visible)
				continue
			}
			if n <= 0 {
				return now
			}
			did := each(m)
			if did == took {
				n--
			}
			if did == took1 {
				n = 0
			}
			if did == blocked {
				break
			}
		}
	}
	return next
}

func earlier(a, b int64) int64 {
	if a < 0 {
		return b
	}
	return min(a, b)
}
