package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/each"
	"github.com/bezoar-dev/bezoar/internal/queue/lease"
	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

func (s *queueStore) Send(ctx context.Context, id int64, entries []queue.Entry) ([]queue.Sent, error) {
	d, leave, err := s.enterQueue(ctx, id)
	if err != nil {
		return nil, err
	}
	defer leave()
	now := micros()
	sent := each.Of(entries, func(e queue.Entry) queue.Sent { return s.send(d, e, nil, now) })
	return sent, nil
}

func (s *queueStore) send(d *definition, e queue.Entry, lineage *queue.Lineage, now int64) queue.Sent {
	if earlier, ok := d.dedups[e.DedupKey]; ok && e.DedupKey != "" && earlier.at > now-queue.DedupWindow.Microseconds() {
		earlier.sent.Duplicate = true
		return earlier.sent
	}
	m := &message{id: e.ID, entry: e.SendInput, dedup: e.Dedup, since: now, lineage: lineage}
	m.entry.Body = bytes.Clone(e.Body)
	m.entry.Attributes, m.entry.System = cloneAttributes(e.Attributes), cloneAttributes(e.System)
	m.Sent, m.Payload, m.Visible, m.Brief = now, e.Payload, now+e.Delay.Microseconds(), queue.Brief(e.Body)
	if e.FIFO {
		m.group = e.Group
	}
	s.add(d.bucket, m)
	sent := queue.Sent{ID: m.id, Sequence: m.seq}
	if e.DedupKey != "" {
		d.dedups[e.DedupKey] = dedup{sent, now}
		d.oldest = append(d.oldest, e.DedupKey)
	}
	return sent
}

func (s *queueStore) SetAside(ctx context.Context, id int64, p queue.Policy, parts []queue.Part) ([]queue.Sent, error) {
	d, leave, err := s.enterQueue(ctx, id)
	if err != nil {
		return nil, err
	}
	defer leave()
	now := micros()
	sent := make([]queue.Sent, len(parts))
	for i, part := range parts {
		if sent[i] = s.send(d, part.Entry, nil, now); !sent[i].Duplicate {
			s.bury(d.bucket.rows[sent[i].Sequence], p, &part.Outcome, now)
		}
	}
	return sent, nil
}

func (s *queueStore) Receive(ctx context.Context, id int64, c queue.Claim) (queue.Claimed, error) {
	d, leave, err := s.enterQueue(ctx, id)
	if err != nil {
		return queue.Claimed{}, err
	}
	defer leave()
	r := receiver{queueStore: s, from: d, claim: c, now: micros(), given: make(map[*message]bool)}
	next := d.bucket.visible(c.FIFO, r.now, c.Max, r.look)
	r.out.Next = -1
	if next >= 0 {
		r.out.Next = time.Duration(max(next-r.now, 0)) * time.Microsecond
	}
	slices.Sort(r.out.Queues)
	r.out.Queues = slices.Compact(r.out.Queues)
	return r.out, nil
}

// receiver is the state of one Receive.
type receiver struct {
	*queueStore
	from  *definition
	claim queue.Claim
	now   int64
	given map[*message]bool // copies given to one worker need not wait for each other
	out   queue.Claimed
}

// look decides what to do with one visible message.
func (r *receiver) look(m *message) look {
	if m.since <= r.now-r.claim.Retention.Microseconds() {
		if name := r.lapse(m, r.claim.Policy, r.claim.Retention, r.now); name != "" {
			r.out.Queues = append(r.out.Queues, name)
		}
		return gone
	}
	var k *poison.Case
	var copied bool
	if m.Judged(r.claim.Policy) {
		copied = r.settleCopies(m)
		k = r.from.cases[m.Payload]
	}
	ruling := m.Receive(r.claim, k, copied, len(r.out.Messages) == 0, r.now)
	if ruling.Case != k {
		r.from.keep(m.Payload, ruling.Case)
	}
	if ruling.Step == lease.Bury {
		r.out.Queues = append(r.out.Queues, r.bury(m, r.claim.Policy, ruling.Cause, r.now))
		return gone
	}
	r.place(m)
	switch ruling.Step {
	case lease.Give, lease.Only:
		r.given[m] = true
		shown := m.show(r.now, true)
		shown.Alone = ruling.Step == lease.Only
		r.out.Messages = append(r.out.Messages, shown)
		if shown.Alone {
			return took1
		}
		return took
	case lease.Defer:
		r.out.Due = true
		return gone
	case lease.Pass, lease.Bury:
	}
	r.out.Held = r.out.Held || copied
	return blocked
}

// settleCopies ends the deliveries of copies whose leases have expired. It reports whether
// a copy is in flight that was not given by this call.
func (r *receiver) settleCopies(m *message) (flies bool) {
	for _, copied := range r.from.bucket.copies(m) {
		if r.given[copied] {
			continue
		}
		if copied.Locks(r.now) {
			flies = true
			continue
		}
		k := r.from.cases[m.Payload]
		next, dead := copied.Expire(r.claim.Policy, k)
		if next != k {
			r.from.keep(m.Payload, next)
		}
		if dead {
			r.out.Queues = append(r.out.Queues, r.bury(copied, r.claim.Policy, nil, r.now))
		} else {
			r.place(copied)
		}
	}
	return flies
}

// show returns a copy of a message for a caller.
func (m *message) show(now int64, withReceipt bool) queue.Message {
	out := queue.Message{
		ID: m.id, Body: bytes.Clone(m.entry.Body), Group: m.entry.Group, Dedup: m.dedup, Sequence: m.seq,
		Attributes: cloneAttributes(m.entry.Attributes), System: cloneAttributes(m.entry.System),
		Priority: m.entry.Priority, Sender: m.entry.Sender, Sent: record.Time(m.Sent), Payload: m.Payload,
	}
	if m.lineage != nil {
		out.Lineage = new(*m.lineage)
	}
	m.FillMessage(&out, now)
	out.Attempts = slices.Clone(out.Attempts)
	if m.letter != nil {
		out.Letter = cloneLetter(m.letter)
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
	d, leave, err := s.enterQueue(ctx, id)
	if err != nil {
		return nil, err
	}
	defer leave()
	now := micros()
	results := make([]error, len(receipts))
	for i, r := range receipts {
		m := d.find(r)
		if m == nil {
			continue
		}
		if results[i] = m.MayDelete(r, fifo, now); results[i] != nil {
			continue
		}
		if p := record.Policy(d.Queue, false); m.Judged(p) {
			if k := d.cases[m.Payload]; k != nil {
				d.keep(m.Payload, record.Worked(p.Poison, k, now))
			}
		}
		s.ended(m, true)
		s.remove(m)
	}
	return results, nil
}

func (s *queueStore) Change(ctx context.Context, id int64, p queue.Policy, changes []queue.Change) ([]error, error) {
	d, leave, err := s.enterQueue(ctx, id)
	if err != nil {
		return nil, err
	}
	defer leave()
	now := micros()
	results := make([]error, len(changes))
	for i, c := range changes {
		m := d.find(c.Receipt)
		if m == nil {
			results[i] = queue.ErrMessageGone
			continue
		}
		var k *poison.Case
		if m.Judged(p) {
			k = d.cases[m.Payload]
		}
		ruling, err := m.Change(c, p, k, now)
		if results[i] = err; err != nil {
			continue
		}
		if ruling.Case != k {
			d.keep(m.Payload, ruling.Case)
		}
		if ruling.Step == lease.Bury {
			s.bury(m, p, ruling.Cause, now)
		} else {
			s.place(m)
		}
	}
	return results, nil
}

// bury moves a message to its dead-letter queue and returns the queue's name.
func (s *queueStore) bury(m *message, p queue.Policy, cause *queue.Outcome, now int64) string {
	origin := m.bucket.queue.Name
	p.DeadLetter = cmp.Or(p.DeadLetter, queue.ImplicitName(origin))
	target, ok := s.byName[p.DeadLetter]
	if !ok {
		target = s.define(queue.ImplicitQueue(p.DeadLetter, p.FIFO))
	}
	letter := m.Die(origin, m.lineage, m.letter, cause, now)
	s.ended(m, false)
	s.remove(m)
	s.settle(m, target, letter, now)
	return target.Name
}

// settle adds a removed message to a queue, as a letter.
func (s *queueStore) settle(m *message, target *definition, letter *queue.Letter, now int64) {
	dead := &message{id: m.id, entry: m.entry, dedup: m.dedup, since: now, letter: letter, lineage: m.lineage}
	dead.Sent, dead.Payload, dead.Visible = m.Sent, m.Payload, now
	if target.Settings.FIFO {
		dead.group, dead.dedup = m.entry.Group, m.id
	}
	s.add(target.bucket, dead)
}

// lapse removes a message that exceeds its queue's retention, or moves it to the
// dead-letter queue and returns that queue's name.
func (s *queueStore) lapse(m *message, p queue.Policy, retention time.Duration, now int64) string {
	cause := m.Lapse(p, retention)
	if cause == nil {
		s.ended(m, false)
		s.remove(m)
		return ""
	}
	d := m.bucket.queue
	var k *poison.Case
	if m.Judged(p) {
		k = d.cases[m.Payload]
	}
	if next, _ := m.Expire(p, k); next != k {
		d.keep(m.Payload, next)
	}
	return s.bury(m, p, cause, now)
}

// ended counts the outcome of a message that a move task had sent.
func (s *queueStore) ended(m *message, worked bool) {
	if m.Letter || m.lineage == nil || m.lineage.Task == "" {
		return
	}
	i := slices.IndexFunc(s.tasks, func(t *task) bool { return t.ID == m.lineage.Task })
	if i < 0 {
		return
	}
	if worked {
		s.tasks[i].Done++
	} else {
		s.tasks[i].Dead++
	}
}

func (s *queueStore) Peek(ctx context.Context, id, after int64, limit int) ([]queue.Message, error) {
	d, leave, err := s.enterQueue(ctx, id)
	if err != nil {
		return nil, err
	}
	defer leave()
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

// after iterates over the messages after a sequence number.
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
	d, leave, err := s.enterQueue(ctx, id)
	if err != nil {
		return queue.Counts{}, err
	}
	defer leave()
	now := micros()
	var c queue.Counts
	for m := range d.bucket.after(0) {
		c.Oldest = cmp.Or(c.Oldest, time.Duration(max(now-m.since, 1))*time.Microsecond)
		switch {
		case m.Visible <= now:
			c.Visible++
		case m.Hold == lease.Ready:
			c.Delayed++
		default:
			c.InFlight++
		}
	}
	return c, nil
}
