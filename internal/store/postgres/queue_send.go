package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

// sendMessages stores entries in one statement. It stores entries with a deduplication key
// only if the key is free. All keys must differ.
var sendMessages = function{
	name:    "send",
	takes:   `bigint, text[], text[], text[], text[], text[], text[], bytea[], bytea[], bytea[], bigint[], bigint[], bigint`,
	returns: `bucket bigint, now bigint, id text, seq bigint`,
	text: `WITH t AS MATERIALIZED (
		SELECT q.id, q.bucket, q.fifo, ` + clock + ` AS now FROM {schema}.queues q WHERE q.id = $1
	), u AS MATERIALIZED (
		SELECT * FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) WITH ORDINALITY
			u (id, label, dedup, sender, attributes, lineage, body, fp, key, rank, delay, n)
	), n AS MATERIALIZED (
		SELECT nextval('{schema}.queue_sequence') AS seq, u.* FROM t CROSS JOIN u
	), d AS (
		INSERT INTO {schema}.queue_dedups AS d (queue, key, sent, id, seq)
		SELECT t.id, n.key, t.now, n.id, n.seq FROM t CROSS JOIN n WHERE n.key IS NOT NULL ORDER BY n.key
		ON CONFLICT (queue, key) DO UPDATE SET sent = excluded.sent, id = excluded.id, seq = excluded.seq
		WHERE d.sent <= excluded.sent - $13 RETURNING d.seq
	), s AS MATERIALIZED (
		SELECT n.* FROM n LEFT JOIN d ON d.seq = n.seq WHERE n.key IS NULL OR d.seq IS NOT NULL ORDER BY n.seq
	), p AS (
		INSERT INTO {schema}.queue_payloads (payload, id, sent, label, dedup, sender, attributes, lineage, body)
		SELECT s.seq, s.id, t.now, s.label, s.dedup, s.sender, s.attributes, s.lineage, s.body FROM t CROSS JOIN s
	), m AS (
		INSERT INTO {schema}.queue_messages (bucket, seq, payload, since, visible, rank, fp, grp)
		SELECT t.bucket, s.seq, s.seq, t.now, t.now + s.delay, s.rank::smallint, s.fp, CASE WHEN t.fifo THEN s.label END FROM t CROSS JOIN s
	), a AS (
		INSERT INTO {schema}.queue_tallies AS a (bucket, slot, n)
		SELECT t.bucket, ` + slot + `, (SELECT count(*) FROM s) FROM t
		ON CONFLICT (bucket, slot) DO UPDATE SET n = a.n + excluded.n
	) SELECT t.bucket, t.now, s.id, s.seq FROM t LEFT JOIN s ON true`,
}

func (s *queueStore) Send(ctx context.Context, id int64, entries []queue.Entry) ([]queue.Sent, error) {
	fifo := slices.ContainsFunc(entries, func(e queue.Entry) bool { return e.FIFO })
	if !fifo {
		return s.sends.run(ctx, id, entries)
	}
	return writing(ctx, s, "send messages", func(t *queueTx) ([]queue.Sent, error) { return t.send(id, entries, nil) })
}

// SendTx implements [queue.TxStore] for a pgx.Tx in the same database.
func (s *queueStore) SendTx(ctx context.Context, tx any, id int64, entries []queue.Entry) ([]queue.Sent, error) {
	const what = "send messages in a transaction of the caller"
	own, ok := tx.(pgx.Tx)
	if !ok {
		return nil, fmt.Errorf("%s: it is a %T, not a pgx.Tx: %w", what, tx, queue.ErrNoTx)
	}
	t := newQueueTx(ctx, s, own)
	sent, err := t.send(id, entries, nil)
	if err == nil {
		err = t.flush()
	}
	if errors.Is(err, queue.ErrQueueNotFound) {
		return nil, err
	}
	return sent, s.db.fault(ctx, err, what)
}

func (s *queueStore) SetAside(ctx context.Context, id int64, p queue.Policy, parts []queue.Part) ([]queue.Sent, error) {
	return writing(ctx, s, "set parts of messages aside", func(t *queueTx) ([]queue.Sent, error) { return t.setAside(id, p, parts) })
}

func (t *queueTx) setAside(id int64, p queue.Policy, parts []queue.Part) ([]queue.Sent, error) {
	entries, causes := make([]queue.Entry, len(parts)), make(map[string]*queue.Outcome, len(parts))
	for i := range parts {
		entries[i], causes[parts[i].ID] = parts[i].Entry, &parts[i].Outcome
	}
	d, err := t.open(id)
	if err != nil {
		return nil, err
	}
	sent, err := t.send(id, entries, nil)
	if err != nil {
		return nil, err
	}
	var seqs []int64
	for i := range sent {
		if !sent[i].Duplicate {
			seqs = append(seqs, sent[i].Sequence)
		}
	}
	rows, err := t.lockRows(d, seqs, "")
	if err != nil {
		return nil, err
	}
	for _, m := range rows {
		if _, err := t.bury(m, d, p, causes[m.id]); err != nil {
			return nil, err
		}
	}
	return sent, nil
}

// weigh counts entries; large ones count several times.
func weigh(entries []queue.Entry) int {
	const big = 16 << 10
	n := len(entries)
	for i := range entries {
		n += len(entries[i].Body) / big
	}
	return n
}

func (s *queueStore) sendAlone(ctx context.Context, id int64, entries []queue.Entry) (sent []queue.Sent, err error) {
	err = s.again(ctx, "send messages", func() error {
		sent, _, err = s.send(ctx, s.db.pool, id, entries, nil)
		return err
	})
	return sent, err
}

func (s *queueStore) sendTogether(ctx context.Context, id int64, of [][]queue.Entry) (out [][]queue.Sent, together bool, err error) {
	sent, err := s.sendAlone(ctx, id, slices.Concat(of...))
	if err != nil {
		return nil, false, err
	}
	for _, entries := range of {
		out, sent = append(out, sent[:len(entries)]), sent[len(entries):]
	}
	return out, true, nil
}

// send stores entries in a FIFO queue, or in one with a lineage: it first locks the groups,
// then assigns the numbers.
func (t *queueTx) send(id int64, entries []queue.Entry, lineage *queue.Lineage) ([]queue.Sent, error) {
	var groups []string
	for _, e := range entries {
		if e.FIFO {
			groups = append(groups, e.Group)
		}
	}
	if err := t.lockGroups(groups); err != nil {
		return nil, err
	}
	sent, bucket, err := t.s.send(t.ctx, t.tx, id, entries, lineage)
	if err != nil {
		return nil, err
	}
	if err := t.row(`SELECT `+clock, nil, &t.now); err != nil {
		return nil, err
	}
	for _, g := range groups {
		t.touch(bucket, g)
	}
	return sent, nil
}

// sender is a pool or a transaction.
type sender interface {
	querier
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func (s *queueStore) send(ctx context.Context, db sender, id int64, entries []queue.Entry, lineage *queue.Lineage) (sent []queue.Sent, bucket int64, err error) {
	ancestors, err := record.EncodeLineage(lineage)
	if err != nil {
		return nil, 0, err
	}
	c := make(columns, 11)
	for i := range c {
		c[i] = []string{} // its cast gives the type of an empty list
	}
	first := make(map[string]bool) // of each key
	for i, e := range entries {
		attributes, err := record.EncodeAttributes(e.SendInput)
		if err != nil {
			return nil, 0, err
		}
		if i == 0 {
			c = nil
		}
		var key []byte
		if e.DedupKey != "" {
			if first[e.DedupKey] {
				continue
			}
			first[e.DedupKey], key = true, []byte(e.DedupKey)
		}
		c.add(e.ID, e.Group, e.Dedup, e.Sender, orNull(attributes), orNull(ancestors), e.Body, fingerprint(e.Payload), key,
			int64(queue.MaxPriority-e.Priority), e.Delay.Microseconds())
	}
	var now int64
	stored := make(map[string]int64, len(entries)) // by ID
	args := append(append([]any{id}, c.args()...), queue.DedupWindow.Microseconds())
	found := false
	err = each(ctx, db, sendMessages.call(s.schema), args, func(rows pgx.Rows) error {
		var message *string
		var seq *int64
		found = true
		if err := rows.Scan(&bucket, &now, &message, &seq); err != nil || message == nil {
			return err
		}
		stored[*message] = *seq
		return nil
	})
	if err == nil && !found {
		err = noQueue(id)
	}
	if err != nil {
		return nil, 0, err
	}
	sent, err = s.acknowledge(ctx, db, id, entries, stored)
	return sent, bucket, err
}

// acknowledge sets the number of every entry: its own, or that of the message with its
// deduplication key.
func (s *queueStore) acknowledge(ctx context.Context, db sender, id int64, entries []queue.Entry, stored map[string]int64) ([]queue.Sent, error) {
	sent := make([]queue.Sent, len(entries))
	byKey := make(map[string]queue.Sent)
	var missing [][]byte
	for i, e := range entries {
		seq, ok := stored[e.ID]
		switch {
		case ok:
			sent[i] = queue.Sent{ID: e.ID, Sequence: seq}
			byKey[e.DedupKey] = sent[i]
		case byKey[e.DedupKey].ID == "":
			missing = append(missing, []byte(e.DedupKey))
		}
	}
	if len(missing) > 0 {
		// The same transaction has locked them.
		err := each(ctx, db, s.in(`SELECT key, id, seq FROM {schema}.queue_dedups WHERE queue = $1 AND key = ANY ($2::bytea[])`), []any{id, missing},
			func(rows pgx.Rows) error {
				var key []byte
				var there queue.Sent
				err := rows.Scan(&key, &there.ID, &there.Sequence)
				byKey[string(key)] = there
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	for i, e := range entries {
		if sent[i].ID != "" {
			continue
		}
		there, ok := byKey[e.DedupKey]
		if !ok {
			return nil, errors.New("a deduplication key is neither taken nor free")
		}
		there.Duplicate = true
		sent[i] = there
	}
	return sent, nil
}
