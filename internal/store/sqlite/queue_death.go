package sqlite

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

// target finds a dead-letter queue, or creates it.
func (t *queueTx) target(p queue.Policy, origin string) (definition, error) {
	name := cmp.Or(p.DeadLetter, queue.ImplicitName(origin))
	d, err := t.named(name)
	if !errors.Is(err, queue.ErrQueueNotFound) {
		return d, err
	}
	q := queue.ImplicitQueue(name, p.FIFO)
	doc, err := record.EncodeQueue(q)
	if err != nil {
		return d, err
	}
	return t.define(q, doc)
}

// bury moves a message to its dead-letter queue and returns the queue's name.
func (t *queueTx) bury(m *messageRow, from definition, p queue.Policy, cause *queue.Outcome) (string, error) {
	target, err := t.target(p, from.Name)
	if err != nil {
		return "", err
	}
	earlier, err := t.letter(m)
	if err != nil {
		return "", err
	}
	before, err := m.ancestry()
	if err != nil {
		return "", err
	}
	letter := m.Die(from.Name, before, earlier, cause, t.now)
	if err := errors.Join(t.ended(m, false), t.remove(m)); err != nil {
		return "", err
	}
	return target.Name, t.settle(m, target, letter)
}

// settle adds a removed message to a queue, as a letter.
func (t *queueTx) settle(m *messageRow, target definition, letter *queue.Letter) error {
	seq, err := t.number("message", 1)
	if err != nil {
		return err
	}
	dead := messageRow{
		bucket: target.bucket, seq: seq, id: m.id, payload: m.payload, rank: m.rank, group: m.group,
		locking: target.Settings.FIFO, dedup: m.dedup, since: t.now, lineage: m.lineage,
	}
	if dead.locking {
		dead.dedup = dead.id
	}
	dead.Sent, dead.Visible, dead.Payload, dead.Letter = m.Sent, t.now, m.Payload, true
	if err := t.insert(&dead); err != nil {
		return err
	}
	return t.addLetter(&dead, letter)
}

// letter reads the letter of a message; nil: none.
func (t *queueTx) letter(m *messageRow) (*queue.Letter, error) {
	if !m.Letter {
		return nil, nil
	}
	var doc []byte
	if err := t.row(`SELECT doc FROM queue_letters WHERE bucket = ? AND seq = ?`, []any{m.bucket, m.seq}, &doc); err != nil {
		return nil, err
	}
	return record.DecodeDeath(doc)
}

func (t *queueTx) addLetter(m *messageRow, l *queue.Letter) error {
	doc, err := record.EncodeDeath(l)
	if err != nil {
		return err
	}
	if err := t.exec(`INSERT INTO queue_letters (bucket, seq, doc) VALUES (?, ?, ?)`, m.bucket, m.seq, doc); err != nil {
		return err
	}
	redriven, group := len(m.lineage) > 0, int64(0)
	err = t.row(`INSERT INTO queue_letter_groups (bucket, grp, n, redriven) VALUES (?1, ?2, 1, ?3)
		ON CONFLICT (bucket, grp) DO UPDATE SET n = n + 1, redriven = redriven + ?3 RETURNING id`, []any{m.bucket, l.Group, redriven}, &group)
	if err != nil {
		return err
	}
	return t.exec(`INSERT INTO queue_deaths (seq, bucket, gid, died, redriven, id, origin, class) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		m.seq, m.bucket, group, l.Died.UnixMicro(), redriven, m.id, l.Origin, l.Class.String())
}

func (t *queueTx) removeLetter(m *messageRow) error {
	if err := t.exec(`DELETE FROM queue_letters WHERE bucket = ? AND seq = ?`, m.bucket, m.seq); err != nil {
		return err
	}
	var group, left int64
	var redriven bool
	if err := t.row(`DELETE FROM queue_deaths WHERE seq = ? RETURNING gid, redriven`, []any{m.seq}, &group, &redriven); err != nil {
		return fmt.Errorf("letter %d: %w", m.seq, err)
	}
	err := t.row(`UPDATE queue_letter_groups SET n = n - 1, redriven = redriven - ? WHERE id = ? RETURNING n`, []any{redriven, group}, &left)
	if err != nil || left > 0 {
		return err
	}
	return t.exec(`DELETE FROM queue_letter_groups WHERE id = ?`, group)
}

// ended counts the outcome of a message that a move task had sent.
func (t *queueTx) ended(m *messageRow, worked bool) error {
	if m.Letter || len(m.lineage) == 0 {
		return nil
	}
	l, err := m.ancestry()
	if err != nil || l.Task == "" {
		return err
	}
	return t.exec(`UPDATE queue_moves SET done = done + ?1, dead = dead + 1 - ?1 WHERE id = ?2`, worked, l.Task)
}

// lapse removes a message that exceeds its queue's retention, or moves it to the
// dead-letter queue and returns that queue's name.
func (t *queueTx) lapse(m *messageRow, d definition, p queue.Policy, retention time.Duration) (string, error) {
	cause := m.Lapse(p, retention)
	if cause == nil {
		return "", t.lose(m)
	}
	if _, err := t.expired(m, d, p); err != nil {
		return "", err
	}
	return t.bury(m, d, p, cause)
}

// lose removes a message that no worker finished.
func (t *queueTx) lose(m *messageRow) error {
	t.removePayload(m.payload)
	return errors.Join(t.ended(m, false), t.remove(m))
}

// expired ends a delivery whose lease has expired. It reports whether the message has to be
// set aside.
func (t *queueTx) expired(m *messageRow, d definition, p queue.Policy) (dead bool, err error) {
	k, err := t.judged(d.ID, m, p)
	if err != nil {
		return false, err
	}
	next, dead := m.Expire(p, k)
	return dead, t.changedCase(d, m, k, next)
}

func (t *queueTx) changedCase(d definition, m *messageRow, old, next *poison.Case) error {
	if next == old {
		return nil
	}
	return t.keepCase(d.ID, m.Payload, next)
}

// oldest reads messages by sequence number, after the given one.
func (t *queueTx) oldest(bucket, after int64, limit int) (found []messageRow, err error) {
	err = t.each(`SELECT `+stateColumns+` FROM queue_messages m WHERE m.bucket = ? AND m.seq > ? ORDER BY m.seq LIMIT ?`, []any{bucket, after, limit},
		func(rows *sql.Rows) error {
			found = append(found, messageRow{})
			return found[len(found)-1].scan(rows.Scan)
		})
	return found, err
}
