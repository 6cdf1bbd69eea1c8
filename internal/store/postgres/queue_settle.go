package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/queue/lease"
	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

// deleteMessages deletes messages of a standard queue in one statement if nothing is to be
// learnt from it: no payload has a case, or only a case that is known to be proven. It
// returns the generation of each existing message.
var deleteMessages = function{
	name:    "delete",
	takes:   `bigint, bigint[], bigint[], boolean, bigint`,
	returns: `bucket bigint, seq bigint, gen bigint, judged boolean`,
	text: `WITH t AS MATERIALIZED (
		SELECT q.id, q.bucket, ` + clock + ` AS now FROM {schema}.queues q WHERE q.id = $1
	), there AS MATERIALIZED (
		SELECT m.* FROM t CROSS JOIN (SELECT DISTINCT u FROM unnest($2) u ORDER BY u) u CROSS JOIN LATERAL (
			SELECT m.bucket, m.seq, m.payload, m.gen, m.letter, m.task, m.fp FROM {schema}.queue_messages m
			WHERE m.bucket = t.bucket AND m.seq = u.u FOR UPDATE
		) m
	), mine AS MATERIALIZED (
		SELECT h.*, NOT $4 AND NOT h.letter AND EXISTS (
			SELECT FROM t JOIN {schema}.queue_cases k ON k.queue = t.id WHERE k.fp = h.fp AND NOT (k.state = 0 AND k.proven AND k.touched > t.now - $5)) AS judged
		FROM there h WHERE EXISTS (SELECT FROM unnest($2, $3) u (seq, gen) WHERE u.seq = h.seq AND u.gen = h.gen)
	), gone AS (
		DELETE FROM {schema}.queue_messages m USING mine h WHERE m.bucket = h.bucket AND m.seq = h.seq AND NOT (SELECT bool_or(judged) FROM mine)
		RETURNING h.*
	), p AS (
		DELETE FROM {schema}.queue_payloads p USING gone g WHERE p.payload = g.payload
	), l AS (
		DELETE FROM {schema}.queue_letters l USING gone g WHERE g.letter AND l.bucket = g.bucket AND l.seq = g.seq
	), d AS (
		DELETE FROM {schema}.queue_deaths d USING gone g WHERE g.letter AND d.bucket = g.bucket AND d.seq = g.seq
	), e AS (
		INSERT INTO {schema}.queue_endings (task, done, dead)
		SELECT v.number, count(*), 0 FROM gone g JOIN {schema}.queue_moves v ON v.number = g.task WHERE NOT g.letter GROUP BY v.number
	), a AS (
		INSERT INTO {schema}.queue_tallies AS a (bucket, slot, n) SELECT g.bucket, ` + slot + `, -count(*) FROM gone g GROUP BY g.bucket
		ON CONFLICT (bucket, slot) DO UPDATE SET n = a.n + excluded.n
	) SELECT t.bucket, h.seq, h.gen, coalesce((SELECT bool_or(judged) FROM mine), false) FROM t LEFT JOIN there h ON true`,
}

func (s *queueStore) Delete(ctx context.Context, id int64, fifo bool, receipts []queue.Receipt) ([]error, error) {
	if !fifo {
		d, err := s.deletes.run(ctx, id, receipts)
		if err != nil || d.done {
			return d.results, err
		}
	}
	return writing(ctx, s, "delete messages", func(t *queueTx) ([]error, error) { return t.delete(id, fifo, receipts) })
}

// deleted is the result of a deletion; done means that no decision is necessary.
type deleted struct {
	results []error
	done    bool
}

func (s *queueStore) deleteAlone(ctx context.Context, id int64, receipts []queue.Receipt) (d deleted, err error) {
	d.results, d.done, err = s.delete(ctx, id, receipts)
	return d, err
}

func (s *queueStore) deleteTogether(ctx context.Context, id int64, of [][]queue.Receipt) (out []deleted, together bool, err error) {
	results, done, err := s.delete(ctx, id, slices.Concat(of...))
	if err != nil || !done {
		return nil, false, err
	}
	for _, receipts := range of {
		out, results = append(out, deleted{results[:len(receipts)], true}), results[len(receipts):]
	}
	return out, true, nil
}

// delete handles deletions without a decision. It reports whether these were all.
func (s *queueStore) delete(ctx context.Context, id int64, receipts []queue.Receipt) (results []error, done bool, err error) {
	bucket, seqs, gens := int64(0), make([]int64, len(receipts)), make([]int64, len(receipts))
	for i, r := range receipts {
		seqs[i], gens[i] = r.Sequence, r.Generation
	}
	err = s.again(ctx, "delete messages", func() error {
		found, there := false, make(map[int64]int64, len(receipts))
		args := []any{id, seqs, gens, false, record.TouchEvery.Microseconds()}
		err := each(ctx, s.db.pool, deleteMessages.call(s.schema), args, func(rows pgx.Rows) error {
			var seq, gen *int64
			var judged bool
			err := rows.Scan(&bucket, &seq, &gen, &judged)
			if seq != nil {
				there[*seq] = *gen
			}
			found, done = true, !judged
			return err
		})
		if err == nil && !found {
			err = noQueue(id)
		}
		results = make([]error, len(receipts))
		for i, r := range receipts {
			if gen, ok := there[r.Sequence]; ok && r.Bucket == bucket && gen != r.Generation {
				results[i] = queue.ErrReceiptStale
			}
		}
		return err
	})
	return results, done, err
}

func (t *queueTx) delete(id int64, fifo bool, receipts []queue.Receipt) ([]error, error) {
	d, rows, err := t.openRows(id, receipts)
	if err != nil {
		return nil, err
	}
	results := make([]error, len(receipts))
	var mine []*messageRow
	for i, r := range receipts {
		m := rows[r.Sequence]
		if m == nil || m.bucket != r.Bucket {
			continue
		}
		if results[i] = m.MayDelete(r, fifo, t.now); results[i] == nil && !slices.Contains(mine, m) {
			mine = append(mine, m)
		}
	}
	p := record.Policy(d.Queue, false)
	if err := t.judge(id, mine, p); err != nil {
		return nil, err
	}
	for _, m := range mine {
		if k := t.findCase(m, p); k != nil {
			t.keep(m, k, record.Worked(p.Poison, k, t.now))
		}
		t.ended(m, true)
		t.remove(m)
	}
	return results, nil
}

// openRows opens a queue and locks messages, by number.
func (t *queueTx) openRows(id int64, receipts []queue.Receipt) (definition, map[int64]*messageRow, error) {
	d, err := t.open(id)
	if err != nil {
		return d, nil, err
	}
	seqs := []int64{}
	for _, r := range receipts {
		if r.Bucket == d.bucket {
			seqs = append(seqs, r.Sequence)
		}
	}
	rows, err := t.lockRows(d, seqs, "")
	found := make(map[int64]*messageRow, len(rows))
	for _, m := range rows {
		found[m.seq] = m
	}
	return d, found, err
}

// lockRows reads and locks messages; in a FIFO queue it also locks their groups. how is "",
// or SKIP LOCKED to skip messages locked by others.
func (t *queueTx) lockRows(d definition, seqs []int64, how string) (found []*messageRow, err error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	if d.Settings.FIFO {
		if err := t.lockGroupsOf(d.bucket, seqs); err != nil {
			return nil, err
		}
	}
	err = t.each(`SELECT `+stateColumns+` FROM`+fromMessages+` WHERE m.bucket = $1 AND m.seq = ANY ($2::bigint[])
		ORDER BY m.seq FOR UPDATE OF m `+how, []any{d.bucket, seqs}, func(rows pgx.Rows) error {
		found = append(found, new(messageRow))
		return found[len(found)-1].scan(rows)
	})
	return found, err
}

func (s *queueStore) Change(ctx context.Context, id int64, p queue.Policy, changes []queue.Change) ([]error, error) {
	return writing(ctx, s, "change leases", func(t *queueTx) ([]error, error) {
		receipts := make([]queue.Receipt, len(changes))
		for i := range changes {
			receipts[i] = changes[i].Receipt
		}
		d, rows, err := t.openRows(id, receipts)
		if err != nil {
			return nil, err
		}
		var judged []*messageRow // by what is said of them
		for i := range changes {
			if m := rows[receipts[i].Sequence]; m != nil && changes[i].Release && changes[i].Outcome != nil {
				judged = append(judged, m)
			}
		}
		if err := t.judge(id, judged, p); err != nil {
			return nil, err
		}
		results := make([]error, len(changes))
		for i, c := range changes {
			m := rows[c.Receipt.Sequence]
			if m == nil || m.bucket != c.Receipt.Bucket {
				results[i] = queue.ErrMessageGone
				continue
			}
			left, result, err := t.changeOne(d, m, c, p)
			if err != nil {
				return nil, err
			}
			if results[i] = result; left {
				delete(rows, m.seq)
			}
		}
		return results, nil
	})
}

// changeOne applies one change and reports whether the message has left.
func (t *queueTx) changeOne(d definition, m *messageRow, c queue.Change, p queue.Policy) (left bool, result, err error) {
	k, hold := t.findCase(m, p), m.Hold
	ruling, result := m.Change(c, p, k, t.now)
	if result != nil {
		return false, result, nil
	}
	t.keep(m, k, ruling.Case)
	if ruling.Step == lease.Bury {
		_, err := t.bury(m, d, p, ruling.Cause)
		return true, nil, err
	}
	if hold != lease.Leased {
		m.lane = m.seq // its lane may belong to another copy by now
	}
	t.change(m)
	return false, nil, nil
}
