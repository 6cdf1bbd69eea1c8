package sqlite

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/bezoar-dev/bezoar"
)

// load fills the cache from the file: which payloads have a case, are in flight, or wait.
func (s *queueStore) load(ctx context.Context) error {
	err := s.scan(ctx, `SELECT queue, payload FROM queue_cases`, func(rows *sql.Rows) error {
		var key caseKey
		err := rows.Scan(&key.queue, (*payload)(&key.payload))
		s.cache.rememberCase(key)
		return err
	})
	if err != nil {
		return err
	}
	err = s.scan(ctx, `SELECT bucket, fp, count(*) FROM queue_messages WHERE due < 0 GROUP BY bucket, fp
		UNION ALL SELECT bucket, waits, count(*) FROM queue_groups WHERE waits IS NOT NULL GROUP BY bucket, waits`, func(rows *sql.Rows) error {
		var key payloadKey
		var n int64
		err := rows.Scan(&key.bucket, (*payload)(&key.payload), &n)
		s.cache.count(key, n)
		return err
	})
	if err != nil {
		return err
	}
	// Each query uses an index of leased messages, so that only these are read.
	for _, leased := range []string{
		`queue_messages m INDEXED BY queue_messages_ready WHERE m.locking = 0 AND m.due = 0`,
		`queue_messages m INDEXED BY queue_messages_due WHERE m.due > 0`,
		`queue_messages m INDEXED BY queue_messages_later WHERE m.locking = 1`,
	} {
		err := s.scan(ctx, `SELECT m.bucket, m.fp, m.seq, m.holding > 0 FROM `+leased+` AND m.hold = 1 AND m.fp IS NOT NULL AND m.letter = 0`, func(rows *sql.Rows) error {
			var key payloadKey
			var seq int64
			var gone bool
			err := rows.Scan(&key.bucket, (*payload)(&key.payload), &seq, &gone)
			s.cache.fly(key, seq, true, gone)
			return err
		})
		if err != nil {
			return err
		}
	}
	s.cache.ended(true)
	return nil
}

func (s *queueStore) scan(ctx context.Context, text string, f func(*sql.Rows) error) error {
	var q query
	q.add(text)
	return q.each(ctx, s.db.reader, f)
}

// settle finishes the writes of a transaction together: it removes bodies, and stores the
// growth of each bucket.
func (s *queueStore) settle(t tx) error {
	if err := t.removeBodies(s.cache.bodies); err != nil {
		return err
	}
	for _, bucket := range slices.Sorted(maps.Keys(s.cache.sizes)) {
		if n := s.cache.sizes[bucket]; n != 0 {
			err := t.exec(`INSERT INTO queue_sizes (bucket, n) VALUES (?, ?) ON CONFLICT (bucket) DO UPDATE SET n = n + excluded.n`, bucket, n)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// removeBodies removes runs of adjacent bodies: messages that were sent together often end
// together.
func (t tx) removeBodies(ids []int64) error {
	slices.Sort(ids)
	for len(ids) > 0 {
		n := 1
		for n < len(ids) && ids[n] == ids[n-1]+1 {
			n++
		}
		if err := t.exec(`DELETE FROM queue_payloads WHERE id BETWEEN ? AND ?`, ids[0], ids[n-1]); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// forgetCases drops the cases of a deleted queue.
func (t *queueTx) forgetCases(id int64) error {
	if t.cache.known[id] == 0 {
		return nil
	}
	var gone []bezoar.Fingerprint
	err := t.each(`DELETE FROM queue_cases WHERE queue = ? RETURNING payload`, []any{id}, func(rows *sql.Rows) error {
		gone = append(gone, bezoar.Fingerprint{})
		return rows.Scan((*payload)(&gone[len(gone)-1]))
	})
	for _, p := range gone {
		t.cache.close(caseKey{id, p})
	}
	return err
}
