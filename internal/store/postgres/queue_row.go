package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/queue/lease"
	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

// messageRow is the state of a message with the short columns.
type messageRow struct {
	lease.Lease
	bucket, seq, payload int64
	since, lane, task    int64
	rank                 int
	id, dedup, label     string
	group                string // in a FIFO queue; otherwise empty
	lineage              []byte
	noted                bool  // its lease has to be stored
	left                 bool  // it has left its queue
	spent                bool  // its payload is gone as well
	died                 int64 // for a letter: time of death
	doc                  []byte
}

// locking reports whether the message is in a FIFO queue.
func (m *messageRow) locking() bool { return m.group != "" }

const stateColumns = `m.bucket, m.seq, m.payload, m.since, m.lane, coalesce(m.task, 0), m.rank, coalesce(m.grp, ''),
	m.gen, m.hold, m.visible, m.due, m.receives, m.received, m.first, m.worker, m.holding, m.letter, m.fp, m.history,
	p.id, p.sent, p.dedup, p.label, p.lineage, l.died, l.doc`

const fromMessages = ` {schema}.queue_messages m JOIN {schema}.queue_payloads p ON p.payload = m.payload
	LEFT JOIN {schema}.queue_letters l ON m.letter AND l.bucket = m.bucket AND l.seq = m.seq`

func (m *messageRow) scan(row pgx.Row, more ...any) error {
	var history, fp []byte
	var died *int64
	err := row.Scan(append([]any{
		&m.bucket, &m.seq, &m.payload, &m.since, &m.lane, &m.task, &m.rank, &m.group,
		&m.Generation, &m.Hold, &m.Visible, &m.Due, &m.Receives, &m.Received, &m.FirstReceived, &m.Worker, &m.Holding, &m.Letter, &fp, &history,
		&m.id, &m.Sent, &m.dedup, &m.label, &m.lineage, &died, &m.doc,
	}, more...)...)
	if err != nil {
		return err
	}
	copy(m.Payload[:], fp)
	if died != nil {
		m.died = *died
	}
	m.History, err = record.DecodeHistory(history)
	return err
}

func (m *messageRow) letter() (*queue.Letter, error) { return readLetter(m.doc, m.died) }

func readLetter(doc []byte, died int64) (*queue.Letter, error) {
	l, err := record.DecodeDeath(doc)
	if l != nil {
		l.Died = record.Time(died)
	}
	return l, err
}

// fullColumns are the columns of a whole message.
const fullColumns = stateColumns + `, p.sender, p.attributes, p.body`

// fullRow is a whole message, before a change of its lease.
type fullRow struct {
	messageRow
	message queue.Message
}

func scanFull(row pgx.Row, more ...any) (f fullRow, err error) {
	m := &f.message
	var attributes []byte
	if err := f.scan(row, append([]any{&m.Sender, &attributes, &m.Body}, more...)...); err != nil {
		return f, err
	}
	m.ID, m.Group, m.Dedup, m.Sequence = f.id, f.label, f.dedup, f.seq
	m.Priority, m.Sent, m.Payload, f.Brief = queue.MaxPriority-f.rank, record.Time(f.Sent), f.Payload, queue.Brief(m.Body)
	record.DecodeAttributes(attributes, m)
	if m.Lineage, err = record.DecodeLineage(f.lineage); err != nil {
		return f, err
	}
	m.Letter, err = f.letter()
	return f, err
}

// show returns the parts of the lease that the message shows; its receiver also gets a
// receipt.
func (f *fullRow) show(now int64, received bool) queue.Message {
	m := f.message
	f.FillMessage(&m, now)
	if received {
		m.Receipt = queue.Receipt{Bucket: f.bucket, Sequence: f.seq, Generation: f.Generation}
	}
	return m
}
