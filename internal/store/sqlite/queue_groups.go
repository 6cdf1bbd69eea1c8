package sqlite

import (
	"database/sql"
	"errors"

	"github.com/bezoar-dev/bezoar"
)

type groupKey struct {
	bucket int64
	group  string
}

// waits is what a FIFO group waits for: a copy with this payload that is in
// flight until then. Zero: for nothing.
type waits struct {
	copy  bezoar.Fingerprint
	until int64
}

// touch notes that a FIFO group has changed.
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

// When a group is locked until, and when its first message is visible.
const groupReady = `WITH held (until) AS (
		SELECT max(visible) FROM queue_messages INDEXED BY queue_messages_held
		WHERE locking = 1 AND bucket = ?1 AND grp = ?2 AND hold = 1 AND visible > ?3
		UNION ALL
		SELECT max(visible) FROM queue_messages INDEXED BY queue_messages_held
		WHERE locking = 1 AND bucket = ?1 AND grp = ?2 AND hold = 2 AND visible > ?3
	), first (at) AS (
		SELECT (SELECT visible FROM queue_messages INDEXED BY queue_messages_held
			WHERE locking = 1 AND bucket = ?1 AND grp = ?2 AND hold = h.column1 AND due = 0 ORDER BY visible LIMIT 1)
		FROM (VALUES (0), (1), (2)) h
	)
	SELECT coalesce((SELECT max(until) FROM held), (SELECT min(at) FROM first))`

// regroup says for every FIFO group that was touched when it has something, and
// for which payload it waits.
func (t *queueTx) regroup() error {
	for key, waits := range t.groups {
		if err := t.unwait(key); err != nil {
			return err
		}
		var ready sql.NullInt64
		if err := t.row(groupReady, []any{key.bucket, key.group, t.now}, &ready); err != nil {
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
			if ready.Int64 <= t.now { // else it is locked, and what locks it may be first again
				ready.Int64 = waits.until
			}
		}
		err := t.exec(`INSERT INTO queue_groups (bucket, grp, ready, waits) VALUES (?, ?, ?, ?)
			ON CONFLICT (bucket, grp) DO UPDATE SET ready = excluded.ready, waits = excluded.waits`,
			key.bucket, key.group, ready.Int64, stored(&waits.copy))
		if err != nil {
			return err
		}
	}
	clear(t.groups)
	return nil
}

// unwait forgets that a group waits.
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
