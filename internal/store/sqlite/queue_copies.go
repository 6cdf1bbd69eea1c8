package sqlite

import (
	"database/sql"
	"errors"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

// Copies of an unproven payload wait for the copy in flight. If there are many, a receive
// must not have to examine all of them: they are parked outside the order of available
// messages; in a FIFO queue, their groups are parked. While any copy is parked, there is
// another message with that payload that is not; when such a message ends, as many parked
// copies as allowed continue. In a FIFO queue, that message may be behind others of its own
// group, where nothing examines it when its lease expires. So each parked group examines
// its state again at that time.

// settleCopies ends the deliveries of copies whose leases have expired. It returns the time
// until which a copy is in flight that was not given by this call: copies that go to one
// worker together need not wait for each other.
func (r *receiver) settleCopies(m *messageRow, all []int64) (until int64, err error) {
	for _, seq := range all {
		if seq == m.seq || r.given[seq] {
			continue
		}
		copied, found, err := r.state(queue.Receipt{Bucket: m.bucket, Sequence: seq})
		if err != nil {
			return 0, err
		}
		if !found {
			continue
		}
		if copied.Locks(r.now) {
			until = max(until, copied.Visible)
			continue
		}
		r.outdate(seq)
		r.looks++
		dead, err := r.expired(&copied, r.from, r.claim.Policy)
		if err != nil {
			return 0, err
		}
		if dead {
			err = r.gained(r.bury(&copied, r.from, r.claim.Policy, nil))
		} else {
			err = r.update(&copied)
		}
		if err != nil {
			return 0, err
		}
	}
	return until, nil
}

// outdate records that a message differs from the state that may have been read.
func (r *receiver) outdate(seq int64) {
	if r.stale == nil {
		r.stale = make(map[int64]bool)
	}
	r.stale[seq] = true
}

// refresh reads a message again if it has changed. It returns false if the message must not
// be received any more.
func (r *receiver) refresh(m *messageRow) (bool, error) {
	if !r.stale[m.seq] {
		return true, nil
	}
	fresh, found, err := r.state(queue.Receipt{Bucket: m.bucket, Sequence: m.seq})
	*m = fresh
	return found && fresh.Due == 0 && fresh.Visible <= r.now, err
}

// park makes a message wait for a copy that is in flight until then.
func (t *queueTx) park(m *messageRow, until int64) error {
	if m.locking {
		t.touch(m)
		t.groups[groupKey{m.bucket, m.group}] = waits{m.Payload, until}
		return t.update(m)
	}
	t.cache.park(m.key(), 1)
	m.parked = true
	return t.update(m)
}

// landed lets copies continue after the end of a delivery, or of the message.
func (t *queueTx) landed(m *messageRow) error {
	t.cache.fly(m.key(), m.seq, false, false)
	return t.letOn(m)
}

// letOn lets copies of a message continue, or determines anew how long they have to wait.
func (t *queueTx) letOn(m *messageRow) error {
	if t.cache.parked[m.key()] == 0 {
		return nil
	}
	d, err := t.owner(m.bucket)
	if errors.Is(err, queue.ErrQueueNotFound) {
		return nil // a leftover
	}
	if err != nil {
		return err
	}
	k, err := t.findCase(d.ID, m.Payload)
	if err != nil {
		return err
	}
	return t.unpark(d, m.Payload, k)
}

// Numbers of parked copies that one transaction lets continue. The end of each lets more
// continue.
const (
	whenProven  = 1000
	whenRefused = 100 // to be set aside
)

// unpark lets copies continue: all of them if they need not wait for each other.
func (t *queueTx) unpark(d definition, p bezoar.Fingerprint, k *poison.Case) error {
	key := payloadKey{d.bucket, p}
	if t.cache.parked[key] == 0 {
		return nil
	}
	n := 1
	switch {
	case d.Settings.Quarantine.Off, free(k):
		n = whenProven
	case k != nil && k.State == poison.Quarantined && t.now < k.Until:
		n = whenRefused
	}
	if d.Settings.FIFO {
		return t.unparkGroups(key, n)
	}
	changed, err := t.changed(`UPDATE queue_messages SET due = 0 WHERE (bucket, seq) IN (SELECT bucket, seq FROM queue_messages INDEXED BY queue_messages_parked
		WHERE due < 0 AND bucket = ? AND fp = ? ORDER BY rank, visible, seq LIMIT ?)`, d.bucket, p[:], n)
	t.cache.park(key, -changed)
	t.freed = t.freed || changed > 0
	return err
}

// unparkGroups marks groups for regroup, which determines when they continue.
func (t *queueTx) unparkGroups(key payloadKey, n int) error {
	return t.touchGroups(`SELECT bucket, grp FROM queue_groups INDEXED BY queue_groups_waiting WHERE bucket = ? AND waits = ? ORDER BY ready LIMIT ?`,
		key.bucket, key.payload[:], n)
}

func (t *queueTx) touchGroups(query string, args ...any) error {
	return t.each(query, args, func(rows *sql.Rows) error {
		m := messageRow{locking: true}
		err := rows.Scan(&m.bucket, &m.group)
		t.touch(&m)
		t.freed = true
		return err
	})
}

// unparkAll lets all copies continue in a queue whose payloads are no longer judged.
func (t *queueTx) unparkAll(d definition) error {
	if t.cache.waiting[d.bucket] == 0 {
		return nil
	}
	if d.Settings.FIFO {
		err := t.touchGroups(`SELECT bucket, grp FROM queue_groups INDEXED BY queue_groups_waiting WHERE bucket = ? AND waits IS NOT NULL LIMIT ?`,
			d.bucket, whenProven)
		return errors.Join(err, t.regroup())
	}
	return t.each(`UPDATE queue_messages SET due = 0 WHERE (bucket, seq) IN (SELECT bucket, seq FROM queue_messages INDEXED BY queue_messages_parked
		WHERE due < 0 AND bucket = ? LIMIT ?) RETURNING fp`, []any{d.bucket, whenProven}, func(rows *sql.Rows) error {
		key := payloadKey{bucket: d.bucket}
		err := rows.Scan((*payload)(&key.payload))
		t.cache.park(key, -1)
		t.freed = true
		return err
	})
}
