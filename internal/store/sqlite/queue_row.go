package sqlite

import (
	"database/sql"
	"errors"

	"github.com/bezoar-dev/bezoar/internal/queue/lease"
	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

type messageRow struct {
	lease.Lease
	bucket, seq, payload int64
	id, group, dedup     string
	rank                 int
	locking, parked      bool
	since                int64
	lineage              []byte
}

const stateColumns = `m.bucket, m.seq, m.id, m.payload, m.rank, m.grp, m.locking, m.dedup, m.sent, m.since,
	m.gen, m.hold, m.visible, m.due, m.receives, m.received, m.first, m.worker, m.letter, m.history, m.fp, m.holding, m.lineage`

func (m *messageRow) scan(scan func(...any) error, more ...any) error {
	var history []byte
	err := scan(append([]any{
		&m.bucket, &m.seq, &m.id, &m.payload, &m.rank, &m.group, &m.locking, &m.dedup, &m.Sent, &m.since,
		&m.Generation, &m.Hold, &m.Visible, &m.Due, &m.Receives, &m.Received, &m.FirstReceived, &m.Worker, &m.Letter, &history,
		(*payload)(&m.Payload), &m.Holding, &m.lineage,
	}, more...)...)
	if err != nil {
		return err
	}
	if m.Due < 0 {
		m.Due, m.parked = 0, true
	}
	m.History, err = record.DecodeHistory(history)
	return err
}

func (m *messageRow) key() payloadKey { return payloadKey{m.bucket, m.Payload} }

// recognised reports whether copies of the message matter.
func (m *messageRow) recognised() bool { return !m.Letter && !m.Payload.IsZero() }

// ancestry returns the message's lineage; nil: none.
func (m *messageRow) ancestry() (*queue.Lineage, error) {
	return record.DecodeLineage(m.lineage)
}

// fullColumns are the columns of a whole message.
const fullColumns = stateColumns + `, p.body, p.attributes, p.sender, l.doc`

const fullJoins = ` JOIN queue_payloads p ON p.id = m.payload
	LEFT JOIN queue_letters l ON m.letter = 1 AND l.bucket = m.bucket AND l.seq = m.seq`

// fullRow is a whole message, before a change of its lease.
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
	f.Brief = queue.Brief(m.Body)
	record.DecodeAttributes(attributes, m)
	return f, f.fill(letter)
}

// fill sets the parts of the message that its state and letter hold.
func (f *fullRow) fill(letter []byte) (err error) {
	m := &f.message
	m.ID, m.Group, m.Dedup, m.Sequence = f.id, f.group, f.dedup, f.seq
	m.Priority, m.Sent = queue.MaxPriority-f.rank, record.Time(f.Sent)
	if m.Lineage, err = f.ancestry(); err != nil {
		return err
	}
	m.Letter, err = record.DecodeDeath(letter)
	return err
}

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
	t.cache.sizes[m.bucket]++
	return t.exec(`INSERT INTO queue_messages (bucket, seq, id, payload, rank, grp, locking, dedup, sent, since, visible, letter, fp, lineage)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.bucket, m.seq, m.id, m.payload, m.rank, m.group, m.locking, m.dedup, m.Sent, m.since, m.Visible, m.Letter, stored(&m.Payload), m.lineage)
}

// update stores a changed lease.
func (t *queueTx) update(m *messageRow) error {
	t.touch(m)
	history, err := record.EncodeHistory(m.History)
	if err != nil {
		return err
	}
	if m.recognised() {
		t.cache.fly(m.key(), m.seq, m.Hold == lease.Leased, m.Holding > 0)
	}
	due := m.Due
	if m.parked {
		due = -1
	}
	return t.exec(`UPDATE queue_messages SET gen = ?, hold = ?, visible = ?, due = ?, receives = ?, received = ?, first = ?, worker = ?, history = ?,
		holding = ? WHERE bucket = ? AND seq = ?`,
		m.Generation, m.Hold, m.Visible, due, m.Receives, m.Received, m.FirstReceived, m.Worker, history,
		m.Holding, m.bucket, m.seq)
}

// remove removes a message's state and letter.
func (t *queueTx) remove(m *messageRow) error {
	if err := t.exec(`DELETE FROM queue_messages WHERE bucket = ? AND seq = ?`, m.bucket, m.seq); err != nil {
		return err
	}
	return t.removed(m)
}

// removed does the updates that go with the removal of a message's state.
func (t *queueTx) removed(m *messageRow) error {
	t.touch(m)
	t.cache.sizes[m.bucket]--
	if m.Letter {
		return t.removeLetter(m)
	}
	if !m.recognised() {
		return nil
	}
	if m.parked {
		t.cache.park(m.key(), -1)
	}
	return t.landed(m)
}

// removePayload schedules the removal of a body at the end of the transaction, together
// with all others.
func (t *queueTx) removePayload(id int64) { t.cache.bodies = append(t.cache.bodies, id) }
