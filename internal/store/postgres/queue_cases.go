package postgres

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

// caseEntry is a payload's case as read, and as it will be stored.
type caseEntry struct {
	there *poison.Case
	now   *poison.Case
	moved bool
}

const caseColumns = `k.fp, k.state, k.proven, k.strikes, k.level, k.since, k.touched, k.until, k.same, k.class, k.failure, k.reason`

func scanCase(row pgx.Row) (queue.PayloadCase, error) {
	var k queue.PayloadCase
	var fp []byte
	var class string
	err := row.Scan(&fp, &k.State, &k.Proven, &k.Strikes, &k.Level, &k.Since, &k.Touched, &k.Until, &k.Same, &class, &k.Failure, &k.Reason)
	if err != nil {
		return k, err
	}
	copy(k.Payload[:], fp)
	return k, k.Class.UnmarshalText([]byte(class))
}

// prints returns the payloads of messages whose cases matter.
func prints(rows []*messageRow, p queue.Policy) []bezoar.Fingerprint {
	var all []bezoar.Fingerprint
	for _, m := range rows {
		if m.Judged(p) {
			all = append(all, m.Payload)
		}
	}
	sorted.Func(all, func(a, b bezoar.Fingerprint) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(all)
}

// judge locks and reads the cases of messages. It must be called after the messages are
// locked.
func (t *queueTx) judge(queue int64, rows []*messageRow, p queue.Policy) error {
	all := prints(rows, p)
	if len(all) == 0 {
		return nil
	}
	if err := t.lockCases(all); err != nil {
		return err
	}
	return t.readCases(queue, all)
}

func (t *queueTx) readCases(queue int64, all []bezoar.Fingerprint) error {
	t.caseOf = queue
	return t.each(`SELECT `+caseColumns+` FROM {schema}.queue_cases k WHERE k.queue = $1 AND k.fp = ANY ($2::bytea[])`,
		[]any{queue, raw(all)}, func(rows pgx.Rows) error {
			k, err := scanCase(rows)
			if t.cases[k.Payload] == nil {
				t.cases[k.Payload] = &caseEntry{there: &k.Case, now: &k.Case}
			}
			return err
		})
}

func raw(all []bezoar.Fingerprint) [][]byte {
	out := make([][]byte, len(all))
	for i := range all {
		out[i] = all[i][:]
	}
	return out
}

// findCase returns the case of a message, as known to this transaction.
func (t *queueTx) findCase(m *messageRow, p queue.Policy) *poison.Case {
	if e := t.cases[m.Payload]; e != nil && m.Judged(p) {
		return e.now
	}
	return nil
}

func (t *queueTx) keep(m *messageRow, before, next *poison.Case) {
	if next == before {
		return
	}
	e := t.cases[m.Payload]
	if e == nil {
		e = new(caseEntry)
		t.cases[m.Payload] = e
	}
	e.now, e.moved = next, true
}

// tallyFor is how long a count of cases is trusted if it is at least caseSlack below the
// limit.
const (
	tallyFor  = time.Second
	caseSlack = 1000
)

// caseTally caches the number of cases per queue, including those that this process added.
type caseTally struct {
	mu sync.Mutex // guards of
	of map[int64]caseCount
}

type caseCount struct {
	n    int
	read time.Time
}

// add reports whether n more cases surely fit.
func (c *caseTally) add(queue int64, n, most int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.of[queue]
	if !ok || time.Since(known.read) > tallyFor || known.n+n > most-caseSlack {
		return false
	}
	known.n += n
	c.of[queue] = known
	return true
}

func (c *caseTally) learn(queue int64, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil || len(c.of) >= 1000 {
		c.of = make(map[int64]caseCount)
	}
	c.of[queue] = caseCount{n, time.Now()}
}

// makeRoom keeps the number of a queue's cases within the limit after additions. Concurrent
// additions may exceed it by their number; the next call corrects that.
func (t *queueTx) makeRoom() error {
	var fresh []bezoar.Fingerprint
	for payload, e := range t.cases {
		if e.moved && e.there == nil && e.now != nil {
			fresh = append(fresh, payload)
		}
	}
	if len(fresh) == 0 || t.s.cases.add(t.caseOf, len(fresh), queue.MaxCases) {
		return nil
	}
	var held int
	if err := t.row(`SELECT count(*) FROM {schema}.queue_cases WHERE queue = $1`, []any{t.caseOf}, &held); err != nil {
		return err
	}
	t.s.cases.learn(t.caseOf, held+len(fresh))
	over := held + len(fresh) - queue.MaxCases
	if over <= 0 {
		return nil
	}
	gone, err := t.tx.Exec(t.ctx, t.in(`DELETE FROM {schema}.queue_cases k USING (
			SELECT queue, fp FROM {schema}.queue_cases WHERE queue = $1 AND state < 2 AND fp <> ALL ($2::bytea[])
			ORDER BY state, touched LIMIT $3 FOR UPDATE SKIP LOCKED) o WHERE k.queue = o.queue AND k.fp = o.fp`),
		t.caseOf, raw(slices.Collect(maps.Keys(t.cases))), over)
	if err != nil {
		return err
	}
	for _, payload := range fresh[:max(over-int(gone.RowsAffected()), 0)] {
		t.cases[payload].moved = false // there is no room for it
	}
	return nil
}

func (t *queueTx) storeCases(batch *pgx.Batch) {
	var c, gone columns
	payloads := sorted.Collect(maps.Keys(t.cases), func(a, b bezoar.Fingerprint) int { return bytes.Compare(a[:], b[:]) })
	for _, payload := range payloads {
		switch e := t.cases[payload]; {
		case !e.moved:
		case e.now == nil:
			gone.add(payload[:])
		default:
			k := e.now
			c.add(payload[:], int64(k.State), k.Proven, int64(k.Strikes), int64(k.Level), k.Since, k.Touched, k.Until, int64(k.Same),
				k.Class.String(), k.Failure, k.Reason)
		}
	}
	if len(gone) > 0 {
		batch.Queue(t.in(`DELETE FROM {schema}.queue_cases WHERE fp = ANY ($1::bytea[]) AND queue = $2`), append(gone.args(), t.caseOf)...)
	}
	if len(c) > 0 {
		batch.Queue(t.in(`INSERT INTO {schema}.queue_cases AS k (queue, fp, state, proven, strikes, level, since, touched, until, same, class, failure, reason)
			SELECT $13::bigint, u.* FROM unnest($1::bytea[], $2::bigint[], $3::boolean[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
				$9::bigint[], $10::text[], $11::text[], $12::text[]) u
			ON CONFLICT (queue, fp) DO UPDATE SET state = excluded.state, proven = excluded.proven, strikes = excluded.strikes, level = excluded.level,
				since = excluded.since, touched = excluded.touched, until = excluded.until, same = excluded.same,
				class = excluded.class, failure = excluded.failure, reason = excluded.reason`), append(c.args(), t.caseOf)...)
	}
}

func (s *queueStore) Cases(ctx context.Context, id int64, state, limit int) ([]queue.PayloadCase, error) {
	q := query{s.in(`SELECT ` + caseColumns + ` FROM {schema}.queue_cases k WHERE true`), nil}
	q.add("AND k.queue = $?", id)
	if state >= 0 {
		q.add("AND k.state = $?", state)
	}
	q.add("ORDER BY k.touched DESC, k.fp LIMIT $?", limit)
	found, err := collect(ctx, s.db, q, func(row pgx.CollectableRow) (queue.PayloadCase, error) { return scanCase(row) })
	if err != nil {
		return nil, s.db.fault(ctx, err, "list payloads")
	}
	if len(found) == 0 {
		return nil, s.exists(ctx, id)
	}
	return found, nil
}

func (s *queueStore) ChangeCase(ctx context.Context, id int64, payload bezoar.Fingerprint, change func(*poison.Case, int64) *poison.Case) error {
	return s.write(ctx, "change what is known of a payload", func(t *queueTx) error {
		if _, err := t.open(id); err != nil {
			return err
		}
		if err := t.lockCases([]bezoar.Fingerprint{payload}); err != nil {
			return err
		}
		if err := t.readCases(id, []bezoar.Fingerprint{payload}); err != nil {
			return err
		}
		e := t.cases[payload]
		if e == nil {
			e = new(caseEntry)
			t.cases[payload] = e
		}
		var there *poison.Case
		if e.there != nil {
			there = new(*e.there)
		}
		if e.now = change(there, t.now); e.now != nil {
			e.now = new(*e.now)
		}
		e.moved = e.now != nil || e.there != nil
		return nil
	})
}

func (s *queueStore) Vanish(ctx context.Context, id int64, receipts []queue.Receipt, holding int) error {
	return s.write(ctx, "note that a worker is gone", func(t *queueTx) error {
		_, rows, err := t.openRows(id, receipts)
		if err != nil {
			return err
		}
		for _, r := range receipts {
			if m := rows[r.Sequence]; m != nil && m.bucket == r.Bucket && m.Vanish(r, holding, t.now) {
				t.change(m)
			}
		}
		return nil
	})
}
