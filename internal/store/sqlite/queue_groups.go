package sqlite

import (
	"database/sql"
	"errors"
	"math"

	"github.com/bezoar-dev/bezoar"
)

type groupKey struct {
	bucket int64
	group  string
}

// waits is what a FIFO group waits for: a copy with this payload that is in flight until
// then. Zero: nothing.
type waits struct {
	copy  bezoar.Fingerprint
	until int64
}

// touch records that a FIFO group has changed.
func (t *queueTx) touch(m *messageRow) {
	if !m.locking {
		return
	}
	if t.groups == nil {
		t.groups = make(map[groupKey]waits)
	}
	key := groupKey{m.bucket, m.group}
	if _, noted := t.groups[key]; !noted {
		t.groups[key] = waits{}
	}
}

// The state of a group: whether it is locked, by which message first, and when another
// message becomes visible: an earlier one, or any if there is no lock. The first statement
// uses the index of held messages, so that nothing is read of a long group without a lock.
const (
	groupLocked = `SELECT EXISTS (SELECT 1 FROM queue_messages INDEXED BY queue_messages_held
			WHERE locking = 1 AND bucket = ?1 AND grp = ?2 AND hold = 1 AND visible > ?3)
		OR EXISTS (SELECT 1 FROM queue_messages INDEXED BY queue_messages_held
			WHERE locking = 1 AND bucket = ?1 AND grp = ?2 AND hold = 2 AND visible > ?3)`
	groupLock = `SELECT seq, visible FROM queue_messages INDEXED BY queue_messages_group
		WHERE locking = 1 AND bucket = ? AND grp = ? AND hold <> 0 AND visible > ? ORDER BY seq LIMIT 1`
	groupBefore = `SELECT min(visible) FROM queue_messages INDEXED BY queue_messages_group
		WHERE locking = 1 AND bucket = ? AND grp = ? AND seq < ? AND due = 0`
	groupFirst = `SELECT min((SELECT visible FROM queue_messages INDEXED BY queue_messages_held
			WHERE locking = 1 AND bucket = ? AND grp = ? AND hold = h.column1 AND due = 0 ORDER BY visible LIMIT 1))
		FROM (VALUES (0), (1), (2)) h`
)

// lock returns the first message that locks a group, which no later message overtakes, and
// the end of the lock. Without a lock it returns a position behind all messages.
func (t *queueTx) lock(key groupKey) (seq, until int64, err error) {
	var locked bool
	err = t.row(groupLocked, []any{key.bucket, key.group, t.now}, &locked)
	if err != nil || !locked {
		return math.MaxInt64, 0, err
	}
	err = t.row(groupLock, []any{key.bucket, key.group, t.now}, &seq, &until)
	return seq, until, err
}

// ready returns the time at which a group has a message to receive, if it has any.
func (t *queueTx) ready(key groupKey) (at sql.NullInt64, err error) {
	seq, until, err := t.lock(key)
	if err != nil || until == 0 {
		if err == nil {
			err = t.row(groupFirst, []any{key.bucket, key.group}, &at)
		}
		return at, err
	}
	err = t.row(groupBefore, []any{key.bucket, key.group, seq}, &at)
	if !at.Valid || until < at.Int64 {
		at = sql.NullInt64{Int64: until, Valid: true}
	}
	return at, err
}

// regroup updates, for every touched FIFO group, the time at which it has a message, and
// the payload that it waits for.
func (t *queueTx) regroup() error {
	for key, waits := range t.groups {
		if err := t.unwait(key); err != nil {
			return err
		}
		ready, err := t.ready(key)
		if err != nil {
			return err
		}
		if !ready.Valid {
			if err := t.exec(`DELETE FROM queue_groups WHERE bucket = ? AND grp = ?`, key.bucket, key.group); err != nil {
				return err
			}
			continue
		}
		if !waits.copy.IsZero() {
			t.cache.park(payloadKey{key.bucket, waits.copy}, 1)
			if ready.Int64 <= t.now { // otherwise it is locked, and the locking message may become first again
				ready.Int64 = waits.until
			}
		}
		err = t.exec(`INSERT INTO queue_groups (bucket, grp, ready, waits) VALUES (?, ?, ?, ?)
			ON CONFLICT (bucket, grp) DO UPDATE SET ready = excluded.ready, waits = excluded.waits`,
			key.bucket, key.group, ready.Int64, stored(&waits.copy))
		if err != nil {
			return err
		}
	}
	clear(t.groups)
	return nil
}

// unwait removes the wait of a group.
func (t *queueTx) unwait(key groupKey) error {
	if len(t.cache.parked) == 0 {
		return nil
	}
	var waits payload
	err := t.row(`SELECT waits FROM queue_groups WHERE bucket = ? AND grp = ?`, []any{key.bucket, key.group}, &waits)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if p := bezoar.Fingerprint(waits); !p.IsZero() {
		t.cache.park(payloadKey{key.bucket, p}, -1)
	}
	return err
}
