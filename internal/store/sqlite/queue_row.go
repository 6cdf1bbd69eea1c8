package sqlite

import (
	"database/sql"
	"errors"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

// messageRow is a message's state.
type messageRow struct {
	record.Lease
	bucket, seq, payload int64
	id, group, dedup     string
	rank                 int
	locking, letter      bool
	sent, since          int64
}

const stateColumns = `m.bucket, m.seq, m.id, m.payload, m.rank, m.grp, m.locking, m.dedup, m.sent, m.since,
	m.gen, m.hold, m.visible, m.due, m.receives, m.received, m.first, m.worker, m.letter, m.history`

func (m *messageRow) scan(scan func(...any) error, more ...any) error {
	var history []byte
	err := scan(append([]any{
		&m.bucket, &m.seq, &m.id, &m.payload, &m.rank, &m.group, &m.locking, &m.dedup, &m.sent, &m.since,
		&m.Generation, &m.Hold, &m.Visible, &m.Due, &m.Receives, &m.Received, &m.FirstReceived, &m.Worker, &m.letter, &history,
	}, more...)...)
	if err != nil {
		return err
	}
	m.History, err = record.DecodeHistory(history)
	return err
}

// fullColumns are those of a whole message.
const fullColumns = stateColumns + `, p.body, p.attributes, p.sender, l.doc`

const fullJoins = ` JOIN queue_payloads p ON p.id = m.payload
	LEFT JOIN queue_letters l ON m.letter = 1 AND l.bucket = m.bucket AND l.seq = m.seq`

// fullRow is a message whole, before its lease changes.
type fullRow struct {
	messageRow
	message queue.Message
}

func scanFull(scan func(...any) error) (f fullRow, err error) {
	m := &f.message
	var attributes, letter []byte
	if err := f.scan(scan, &m.Body, &attributes, &m.Sender, &letter); err != nil {
		return f, err
	}
	m.ID, m.Group, m.Dedup, m.Sequence = f.id, f.group, f.dedup, f.seq
	m.Priority, m.Sent = queue.MaxPriority-f.rank, record.Time(f.sent)
	if err := record.DecodeAttributes(attributes, m); err != nil {
		return f, err
	}
	m.Letter, err = record.DecodeDeath(letter)
	return f, err
}

// state finds one message by its receipt.
func (t *queueTx) state(r queue.Receipt) (m messageRow, found bool, err error) {
	const query = `SELECT ` + stateColumns + ` FROM queue_messages m WHERE m.bucket = ? AND m.seq = ?`
	err = m.scan(func(dest ...any) error { return t.row(query, []any{r.Bucket, r.Sequence}, dest...) })
	if errors.Is(err, sql.ErrNoRows) {
		return m, false, nil
	}
	return m, err == nil, err
}

func (t *queueTx) insert(m *messageRow) error {
	t.touch(m)
	return t.exec(`INSERT INTO queue_messages (bucket, seq, id, payload, rank, grp, locking, dedup, sent, since, visible, letter)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.bucket, m.seq, m.id, m.payload, m.rank, m.group, m.locking, m.dedup, m.sent, m.since, m.Visible, m.letter)
}

// update stores a changed lease.
func (t *queueTx) update(m *messageRow) error {
	t.touch(m)
	history, err := record.EncodeHistory(m.History)
	if err != nil {
		return err
	}
	return t.exec(`UPDATE queue_messages SET gen = ?, hold = ?, visible = ?, due = ?, receives = ?, received = ?, first = ?, worker = ?, history = ?
		WHERE bucket = ? AND seq = ?`,
		m.Generation, m.Hold, m.Visible, m.Due, m.Receives, m.Received, m.FirstReceived, m.Worker, history, m.bucket, m.seq)
}

// remove takes a message's state away, and its letter.
func (t *queueTx) remove(m *messageRow) error {
	t.touch(m)
	if err := t.exec(`DELETE FROM queue_messages WHERE bucket = ? AND seq = ?`, m.bucket, m.seq); err != nil || !m.letter {
		return err
	}
	return t.exec(`DELETE FROM queue_letters WHERE bucket = ? AND seq = ?`, m.bucket, m.seq)
}

func (t *queueTx) removePayload(id int64) error {
	return t.exec(`DELETE FROM queue_payloads WHERE id = ?`, id)
}

// bury sends a message to a dead-letter queue.
func (t *queueTx) bury(m *messageRow, origin string, target definition) error {
	var earlier *queue.Letter
	if m.letter {
		var doc []byte
		err := t.row(`SELECT doc FROM queue_letters WHERE bucket = ? AND seq = ?`, []any{m.bucket, m.seq}, &doc)
		if err != nil {
			return err
		}
		if earlier, err = record.DecodeDeath(doc); err != nil {
			return err
		}
	}
	doc, err := record.EncodeDeath(m.Die(origin, earlier, t.now))
	if err != nil {
		return err
	}
	if err := t.remove(m); err != nil {
		return err
	}
	seq, err := t.number("message", 1)
	if err != nil {
		return err
	}
	dead := messageRow{
		bucket: target.bucket, seq: seq, id: m.id, payload: m.payload, rank: m.rank, group: m.group,
		locking: target.Settings.FIFO, dedup: m.dedup, sent: m.sent, since: t.now, letter: true,
	}
	if dead.locking {
		dead.dedup = dead.id
	}
	dead.Visible = t.now
	if err := t.insert(&dead); err != nil {
		return err
	}
	return t.exec(`INSERT INTO queue_letters (bucket, seq, doc) VALUES (?, ?, ?)`, dead.bucket, dead.seq, doc)
}

// touch notes that a FIFO group has changed.
func (t *queueTx) touch(m *messageRow) {
	if !m.locking {
		return
	}
	if t.groups == nil {
		t.groups = make(map[groupKey]bool)
	}
	t.groups[groupKey{m.bucket, m.group}] = true
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

// regroup says for every FIFO group that was touched when it has something.
func (t *queueTx) regroup() error {
	for key := range t.groups {
		var ready sql.NullInt64
		if err := t.row(groupReady, []any{key.bucket, key.group, t.now}, &ready); err != nil {
			return err
		}
		var err error
		if ready.Valid {
			err = t.exec(`INSERT INTO queue_groups (bucket, grp, ready) VALUES (?, ?, ?)
				ON CONFLICT (bucket, grp) DO UPDATE SET ready = excluded.ready`, key.bucket, key.group, ready.Int64)
		} else {
			err = t.exec(`DELETE FROM queue_groups WHERE bucket = ? AND grp = ?`, key.bucket, key.group)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
