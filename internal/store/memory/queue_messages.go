package memory

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

func (s *queueStore) Send(ctx context.Context, id int64, entries []queue.Entry) ([]queue.Sent, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	d, err := s.open(id)
	if err != nil {
		return nil, err
	}
	now := micros()
	sent := make([]queue.Sent, len(entries))
	for i, e := range entries {
		if earlier, ok := d.dedups[e.DedupKey]; ok && e.DedupKey != "" && earlier.at > now-queue.DedupWindow.Microseconds() {
			sent[i] = earlier.sent
			sent[i].Duplicate = true
			continue
		}
		m := &message{id: e.ID, entry: e.SendInput, dedup: e.Dedup, sent: now, since: now}
		m.entry.Body = bytes.Clone(e.Body)
		m.entry.Attributes, m.entry.System = cloneAttributes(e.Attributes), cloneAttributes(e.System)
		m.Visible = now + e.Delay.Microseconds()
		if e.FIFO {
			m.group = e.Group
		}
		s.add(d.bucket, m)
		sent[i] = queue.Sent{ID: m.id, Sequence: m.seq}
		if e.DedupKey != "" {
			d.dedups[e.DedupKey] = dedup{sent[i], now}
			d.oldest = append(d.oldest, e.DedupKey)
		}
	}
	return sent, nil
}

func (s *queueStore) Receive(ctx context.Context, id int64, c queue.Claim) (queue.Claimed, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return queue.Claimed{}, err
	}
	defer leave()
	d, err := s.open(id)
	if err != nil {
		return queue.Claimed{}, err
	}
	now := micros()
	var claimed queue.Claimed
	next := d.bucket.visible(c.FIFO, now, c.Max, func(m *message) bool {
		if m.since <= now-c.Retention.Microseconds() {
			s.remove(m) // nobody will miss it
			return false
		}
		delivered := m.Claim(c, now)
		s.place(m)
		if delivered {
			claimed.Messages = append(claimed.Messages, m.show(now, true))
		}
		claimed.Due = claimed.Due || !delivered
		return delivered
	})
	claimed.Next = -1
	if next >= 0 {
		claimed.Next = time.Duration(max(next-now, 0)) * time.Microsecond
	}
	return claimed, nil
}

// show copies a message for a caller.
func (m *message) show(now int64, withReceipt bool) queue.Message {
	out := queue.Message{
		ID: m.id, Body: bytes.Clone(m.entry.Body), Group: m.entry.Group, Dedup: m.dedup, Sequence: m.seq,
		Attributes: cloneAttributes(m.entry.Attributes), System: cloneAttributes(m.entry.System),
		Priority: m.entry.Priority, Sender: m.entry.Sender, Sent: record.Time(m.sent),
	}
	m.FillMessage(&out, now)
	out.Attempts = slices.Clone(out.Attempts)
	if m.letter != nil {
		letter := *m.letter
		letter.Attempts = slices.Clone(letter.Attempts)
		out.Letter = &letter
	}
	if withReceipt {
		out.Receipt = queue.Receipt{Bucket: m.bucket.id, Sequence: m.seq, Generation: m.Generation}
	}
	return out
}

func (d *definition) find(r queue.Receipt) *message {
	if r.Bucket != d.bucket.id {
		return nil
	}
	return d.bucket.rows[r.Sequence]
}

func (s *queueStore) Delete(ctx context.Context, id int64, fifo bool, receipts []queue.Receipt) ([]error, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	d, err := s.open(id)
	if err != nil {
		return nil, err
	}
	now := micros()
	results := make([]error, len(receipts))
	for i, r := range receipts {
		m := d.find(r)
		if m == nil {
			continue
		}
		if results[i] = m.MayDelete(r, fifo, now); results[i] == nil {
			s.remove(m)
		}
	}
	return results, nil
}

func (s *queueStore) Change(ctx context.Context, id int64, p queue.Policy, changes []queue.Change) ([]error, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	d, err := s.open(id)
	if err != nil {
		return nil, err
	}
	now := micros()
	results := make([]error, len(changes))
	for i, c := range changes {
		m := d.find(c.Receipt)
		if m == nil {
			results[i] = queue.ErrMessageGone
			continue
		}
		target, targeted := s.byName[p.DeadLetter]
		if !targeted {
			p.DeadLetter, p.MaxReceives = "", 0
		}
		dead, err := m.Change(c, p, now)
		if results[i] = err; err != nil {
			continue
		}
		if dead {
			s.bury(m, target, now)
		} else {
			s.place(m)
		}
	}
	return results, nil
}

// bury sends a message to a dead-letter queue.
func (s *queueStore) bury(m *message, target *definition, now int64) {
	letter := m.Die(m.bucket.queue.Name, m.letter, now)
	s.remove(m)
	dead := &message{id: m.id, entry: m.entry, dedup: m.dedup, sent: m.sent, since: now, letter: letter}
	if target.Settings.FIFO {
		dead.group, dead.dedup = m.entry.Group, m.id
	}
	dead.Visible = now
	s.add(target.bucket, dead)
}

func (s *queueStore) Peek(ctx context.Context, id, after int64, limit int) ([]queue.Message, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	d, err := s.open(id)
	if err != nil {
		return nil, err
	}
	now := micros()
	var found []queue.Message
	for m := range d.bucket.after(after) {
		if len(found) == limit {
			break
		}
		found = append(found, m.show(now, false))
	}
	return found, nil
}

// after goes through the messages beyond a sequence number.
func (b *bucket) after(seq int64) func(func(*message) bool) {
	return func(yield func(*message) bool) {
		from, _ := slices.BinarySearchFunc(b.order, seq+1, func(m *message, seq int64) int { return int(m.seq - seq) })
		for _, m := range b.order[from:] {
			if m.bucket != nil && !yield(m) {
				return
			}
		}
	}
}

func (s *queueStore) Counts(ctx context.Context, id int64) (queue.Counts, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return queue.Counts{}, err
	}
	defer leave()
	d, err := s.open(id)
	if err != nil {
		return queue.Counts{}, err
	}
	now := micros()
	var c queue.Counts
	for m := range d.bucket.after(0) {
		if c.Oldest == 0 {
			c.Oldest = time.Duration(max(now-m.since, 1)) * time.Microsecond
		}
		switch {
		case m.Visible <= now:
			c.Visible++
		case m.Hold == record.Ready:
			c.Delayed++
		default:
			c.InFlight++
		}
	}
	return c, nil
}
