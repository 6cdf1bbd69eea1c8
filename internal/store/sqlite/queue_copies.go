package sqlite

import (
	"database/sql"
	"errors"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

// Copies of an unproven payload wait for the one that is in flight. Where there
// are many, no receive may have to look at all of them: they are parked, out of
// the order of what may be received, in a FIFO queue by their group. As long as
// any is parked there is another message with that payload that is not; whenever
// one of those ends, as many are let go on as may.

// copied reports whether another message with this payload is in flight.
func (t *queueTx) copied(m *messageRow) (bool, error) {
	f, ok := t.memo.flying[m.key()]
	if !ok {
		return false, nil
	}
	for i := -1; i < len(f.more); i++ {
		seq := f.one
		if i >= 0 {
			seq = f.more[i]
		}
		if seq == m.seq {
			continue
		}
		var flies bool
		err := t.row(`SELECT hold = 1 AND visible > ? FROM queue_messages WHERE bucket = ? AND seq = ?`, []any{t.now, m.bucket, seq}, &flies)
		if err != nil && !errors.Is(err, sql.ErrNoRows) || flies {
			return flies, err
		}
	}
	return false, nil
}

// park has a message wait for a copy of its.
func (t *queueTx) park(m *messageRow) error {
	if m.locking {
		t.touch(m)
		t.groups[groupKey{m.bucket, m.group}] = m.Payload
		return t.update(m)
	}
	t.memo.park(m.key(), 1)
	m.parked = true
	return t.update(m)
}

// landed lets copies go on after the end of a delivery, or of the message.
func (t *queueTx) landed(m *messageRow) error {
	t.memo.land(m.key(), m.seq)
	if t.memo.parked[m.key()] == 0 {
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

// How many that were parked one transaction lets go on. The end of each lets
// more go.
const (
	whenProven  = 1000
	whenRefused = 100 // to be set aside
)

// unpark lets copies go on: all when they need not wait for each other.
func (t *queueTx) unpark(d definition, p bezoar.Fingerprint, k *poison.Case) error {
	key := payloadKey{d.bucket, p}
	if t.memo.parked[key] == 0 {
		return nil
	}
	n := 1
	switch {
	case d.Settings.Quarantine.Off, k != nil && k.State == poison.Watched && k.Proven:
		n = whenProven
	case k != nil && k.State == poison.Quarantined && t.now < k.Until:
		n = whenRefused
	}
	query := `UPDATE queue_messages SET parked = 0 WHERE (bucket, seq) IN (SELECT bucket, seq FROM queue_messages INDEXED BY queue_messages_parked
		WHERE parked = 1 AND bucket = ? AND fp = ? ORDER BY rank, visible, seq LIMIT ?)`
	if d.Settings.FIFO {
		query = `UPDATE queue_groups SET waits = NULL WHERE (bucket, grp) IN (SELECT bucket, grp FROM queue_groups INDEXED BY queue_groups_waiting
			WHERE bucket = ? AND waits = ? ORDER BY ready LIMIT ?)`
	}
	changed, err := t.changed(query, d.bucket, p[:], n)
	t.memo.park(key, -changed)
	t.freed = t.freed || changed > 0
	return err
}
