package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

// choose converts a selection to conditions on a death d and its queue q. A list is one
// argument, so that there are few different statements. The plus signs keep the planner in
// the order of the sequence, in which one scan reads everything.
func choose(s queue.Selection) (where string, args []any, err error) {
	var parts []string
	and := func(part string, arg any) {
		parts = append(parts, part)
		args = append(args, arg)
	}
	if s.Queue != "" {
		and(`q.name = ?`, s.Queue)
	} else {
		and(`q.name <> ?`, queue.TrashQueue)
	}
	for _, list := range []struct {
		part string
		of   []string
	}{
		{`+d.gid IN (SELECT g.id FROM queue_letter_groups g JOIN json_each(?) j ON g.grp = j.value)`, s.Groups},
		{`d.id IN (SELECT j.value FROM json_each(?) j)`, s.IDs},
	} {
		if len(list.of) > 0 {
			text, err := json.Marshal(list.of)
			if err != nil {
				return "", nil, err
			}
			and(list.part, string(text))
		}
	}
	if s.Origin != "" {
		and(`+d.origin = ?`, s.Origin)
	}
	if s.Class != "" {
		and(`+d.class = ?`, s.Class)
	}
	if !s.After.IsZero() {
		and(`+d.died >= ?`, s.After.UnixMicro())
	}
	if !s.Before.IsZero() {
		and(`+d.died < ?`, s.Before.UnixMicro())
	}
	if s.Last != 0 {
		and(`d.seq <= ?`, s.Last)
	}
	if s.Unreplaced {
		and(`(SELECT json_extract(CAST(l.doc AS TEXT), ?) IS NULL FROM queue_letters l WHERE l.bucket = d.bucket AND l.seq = d.seq)`, `$.discarded.into`)
	}
	if s.Reason != "" {
		and(`(SELECT instr(json_extract(CAST(r.doc AS TEXT), '$.reason'), ?) > 0 FROM queue_letters r WHERE r.bucket = d.bucket AND r.seq = d.seq)`, s.Reason)
	}
	if s.Body != "" {
		and(`(SELECT instr(y.body, ?) > 0`+payloadOf+`)`, []byte(s.Body))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Attributes)) {
		parts = append(parts, `EXISTS (SELECT 1`+payloadOf+` AND `+hasAttribute+`)`)
		args = append(args, name, s.Attributes[name])
	}
	return ` WHERE ` + strings.Join(parts, ` AND `), args, nil
}

// payloadOf joins the content of the message of a death d.
const payloadOf = ` FROM queue_messages c CROSS JOIN queue_payloads y ON y.id = c.payload WHERE c.bucket = d.bucket AND c.seq = d.seq`

// hasAttribute searches a name and a value in the result of record.EncodeAttributes.
// Damaged text matches nothing.
const hasAttribute = `EXISTS (SELECT 1
	FROM json_each(CASE WHEN json_valid(CAST(y.attributes AS TEXT)) THEN CAST(y.attributes AS TEXT) ELSE '{}' END) o
	CROSS JOIN json_each(CASE WHEN o.type = 'object' THEN o.value ELSE '{}' END) v
	WHERE v.key = ? AND v.type = 'object' AND coalesce(json_extract(v.value, '$.s'), '') = ? AND json_extract(v.value, '$.b') IS NULL)`

// horizon is the sequence number up to which a step searches the content of letters, so
// that it does not block the file while it reads all of them; 0: no limit.
func (t *queueTx) horizon(s queue.Selection, after int64) (seq int64, err error) {
	s.Body, s.Reason, s.Attributes = "", "", nil
	where, args, err := choose(s)
	if err != nil {
		return 0, err
	}
	from := deaths
	if s.Queue == "" {
		from = inOrder
	}
	err = t.row(`SELECT coalesce((SELECT d.seq`+from+where+` AND d.seq > ? ORDER BY d.seq LIMIT 1 OFFSET ?), 0)`,
		append(args, after, record.MaxLooked-1), &seq)
	return seq, err
}

// deaths is the source of the letters of one queue.
const deaths = ` FROM queues q CROSS JOIN queue_deaths d ON d.bucket = q.bucket`

// inOrder is the source of the letters of all queues, in order.
const inOrder = ` FROM queue_deaths d CROSS JOIN queues q ON d.bucket = q.bucket`

func (t *queueTx) countLetters(s queue.Selection) (n, last int64, err error) {
	where, args, err := choose(s)
	if err != nil {
		return 0, 0, err
	}
	err = t.row(`SELECT count(*), coalesce(max(d.seq), 0)`+deaths+where, args, &n, &last)
	return n, last, err
}

func (s *queueStore) CountLetters(ctx context.Context, sel queue.Selection) (n, last int64, err error) {
	where, args, err := choose(sel)
	if err != nil {
		return 0, 0, err
	}
	err = s.db.reader.QueryRowContext(ctx, `SELECT count(*), coalesce(max(d.seq), 0)`+deaths+where, args...).Scan(&n, &last)
	return n, last, s.db.fault(ctx, err, "count dead letters")
}

// lettersAhead reads the next selected letters after a sequence number.
func (t *queueTx) lettersAhead(s queue.Selection, after int64, n int) (found []messageRow, err error) {
	where, args, err := choose(s)
	if err != nil {
		return nil, err
	}
	from := deaths
	if s.Queue == "" {
		from = inOrder
	}
	query := `SELECT ` + stateColumns + from + ` CROSS JOIN queue_messages m ON m.bucket = d.bucket AND m.seq = d.seq` +
		where + ` AND d.seq > ? ORDER BY d.seq LIMIT ?`
	err = t.each(query, append(args, after, n), func(rows *sql.Rows) error {
		found = append(found, messageRow{})
		return found[len(found)-1].scan(rows.Scan)
	})
	return found, err
}

func (s *queueStore) Letters(ctx context.Context, sel queue.Selection, after int64, limit int) ([]queue.Death, error) {
	where, args, err := choose(sel)
	if err != nil {
		return nil, err
	}
	from := deaths
	if sel.Queue == "" {
		from = inOrder
	}
	var q query
	q.add(`SELECT ` + stateColumns + `, p.sender, l.doc, q.name, q.id` + from + `
		CROSS JOIN queue_messages m ON m.bucket = d.bucket AND m.seq = d.seq` + fullJoins + where)
	q.args = append(q.args, args...)
	if after != 0 {
		q.add(`AND d.seq < ?`, after)
	}
	q.add(`ORDER BY d.seq DESC LIMIT ?`, limit)
	var found []queue.Death
	now := time.Now().UnixMicro()
	err = q.each(ctx, s.db.reader, func(rows *sql.Rows) error {
		var f fullRow
		var doc []byte
		var name string
		var id int64
		if err := f.scan(rows.Scan, &f.message.Sender, &doc, &name, &id); err != nil {
			return err
		}
		if err := f.fill(doc); err != nil {
			return err
		}
		d := f.death(name, id, now)
		d.Attempts, d.Letter.Attempts = nil, nil
		found = append(found, d)
		return nil
	})
	return found, s.db.fault(ctx, err, "list dead letters")
}

func (f *fullRow) death(name string, id, now int64) queue.Death {
	f.FillMessage(&f.message, now)
	f.message.Receipt = queue.Receipt{Queue: id, Bucket: f.bucket, Sequence: f.seq, Generation: f.Generation}
	return queue.Death{Queue: name, Message: f.message}
}

const letterByID = `SELECT ` + fullColumns + `, q.name, q.id FROM queue_deaths d JOIN queues q ON q.bucket = d.bucket
	JOIN queue_messages m ON m.bucket = d.bucket AND m.seq = d.seq` + fullJoins + ` WHERE d.id = ?`

func (s *queueStore) Letter(ctx context.Context, id string) (queue.Death, error) {
	var name string
	var of int64
	row := s.db.reader.QueryRowContext(ctx, letterByID, id)
	f, err := scanFull(func(dest ...any) error { return row.Scan(append(dest, &name, &of)...) })
	if errors.Is(err, sql.ErrNoRows) {
		return queue.Death{}, fmt.Errorf("letter %.64q: %w", id, queue.ErrLetterNotFound)
	}
	if err != nil {
		return queue.Death{}, s.db.fault(ctx, err, "read letter %.64q", id)
	}
	return f.death(name, of, time.Now().UnixMicro()), nil
}

func (s *queueStore) Replace(ctx context.Context, r queue.Replacement) (queue.Sent, error) {
	attributes, err := record.EncodeAttributes(r.Entry.SendInput)
	if err != nil {
		return queue.Sent{}, err
	}
	lineage, err := record.EncodeLineage(&r.Lineage)
	if err != nil {
		return queue.Sent{}, err
	}
	return writing(ctx, s, "replace a dead letter", func(t *queueTx) (sent queue.Sent, err error) {
		var m messageRow
		const query = `SELECT ` + stateColumns + ` FROM queue_deaths d JOIN queues q ON q.bucket = d.bucket
			JOIN queue_messages m ON m.bucket = d.bucket AND m.seq = d.seq WHERE d.id = ?`
		err = m.scan(func(dest ...any) error { return t.row(query, []any{r.Letter}, dest...) })
		if errors.Is(err, sql.ErrNoRows) {
			return sent, fmt.Errorf("letter %.64q: %w", r.Letter, queue.ErrLetterNotFound)
		}
		if err != nil {
			return sent, err
		}
		letter, err := t.letter(&m)
		if err != nil {
			return sent, err
		}
		if err := record.MayReplace(r, letter, m.seq, &m.Lease, t.now); err != nil {
			return sent, err
		}
		return t.replace(r, &m, letter, attributes, lineage)
	})
}

func (t *queueTx) replace(r queue.Replacement, m *messageRow, letter *queue.Letter, attributes, lineage []byte) (queue.Sent, error) {
	target, err := t.named(r.Destination)
	if err == nil && r.Destination == queue.TrashQueue {
		err = fmt.Errorf("queue %s: %w", r.Destination, queue.ErrQueueNotFound)
	}
	if err != nil {
		return queue.Sent{}, err
	}
	from, err := t.owner(m.bucket)
	if err != nil {
		return queue.Sent{}, err
	}
	trash, err := t.named(queue.TrashQueue)
	if err != nil {
		return queue.Sent{}, err
	}
	seq, err := t.number("message", 1)
	if err != nil {
		return queue.Sent{}, err
	}
	sent, err := t.send(target, seq, r.Entry, attributes, lineage)
	if err != nil || sent.Duplicate {
		return sent, err
	}
	letter.Discarded = &queue.Discarded{At: record.Time(t.now), From: from.Name, Into: sent.ID}
	if err := t.remove(m); err != nil {
		return sent, err
	}
	return sent, t.settle(m, trash, letter)
}
