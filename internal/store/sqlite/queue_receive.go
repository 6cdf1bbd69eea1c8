package sqlite

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/queue/lease"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

func (s *queueStore) Receive(ctx context.Context, id int64, c queue.Claim) (queue.Claimed, error) {
	return writing(ctx, s, "receive messages", func(t *queueTx) (queue.Claimed, error) { return t.receive(id, c) })
}

func (t *queueTx) receive(id int64, c queue.Claim) (queue.Claimed, error) {
	d, err := t.open(id)
	if err != nil {
		return queue.Claimed{}, err
	}
	r := receiver{queueTx: t, from: d, claim: c, next: -1, out: queue.Claimed{Next: -1}}
	if c.Poison.Off {
		if err := t.unparkAll(d); err != nil {
			return queue.Claimed{}, err
		}
	}
	if c.FIFO {
		err = r.fromGroups()
	} else {
		err = r.fromRanks()
	}
	if r.looks >= maxLooks || t.freed {
		r.later(t.now)
	}
	r.out.Held = r.out.Held || t.cache.waiting[d.bucket] > 0
	if r.next >= 0 {
		r.out.Next = time.Duration(max(r.next-t.now, 0)) * time.Microsecond
	}
	slices.Sort(r.out.Queues)
	r.out.Queues = slices.Compact(r.out.Queues)
	return r.out, err
}

// maxLooks is the maximum number of messages that one receive examines, because many may
// have to be set aside.
const maxLooks = 1000

// receiver leases messages of one queue.
type receiver struct {
	*queueTx
	from  definition
	claim queue.Claim
	out   queue.Claimed
	next  int64 // time of the next message; negative: never
	looks int
	given map[int64]bool // by sequence number
	stale map[int64]bool // messages that have changed since they were read
	over  bool           // no other message may be given
}

// left returns how many messages may still be given.
func (r *receiver) left() int {
	if r.over {
		return 0
	}
	return min(r.claim.Max-len(r.out.Messages), maxLooks-r.looks)
}

func (r *receiver) later(visible int64) {
	if r.next < 0 || visible < r.next {
		r.next = visible
	}
}

const (
	nextRank = `SELECT min(rank) FROM queue_messages INDEXED BY queue_messages_ready
		WHERE locking = 0 AND due = 0 AND bucket = ? AND rank >= ?`
	visibleOfRank = `SELECT ` + fullColumns + ` FROM queue_messages m INDEXED BY queue_messages_ready` + fullJoins + `
		WHERE m.locking = 0 AND m.due = 0 AND m.bucket = ? AND m.rank = ? AND m.visible <= ? AND (m.visible, m.seq) > (?, ?)
		ORDER BY m.visible, m.seq LIMIT ?`
	firstOfRank = `SELECT min(visible) FROM queue_messages INDEXED BY queue_messages_ready
		WHERE locking = 0 AND due = 0 AND bucket = ? AND rank = ? AND visible > ?`
	readyGroups = `SELECT grp, ready FROM queue_groups INDEXED BY queue_groups_by_ready
		WHERE bucket = ? AND ready <= ? ORDER BY ready, grp LIMIT ?`
	firstGroup = `SELECT min(ready) FROM queue_groups INDEXED BY queue_groups_by_ready WHERE bucket = ? AND ready > ?`
	ofGroup    = `SELECT ` + fullColumns + ` FROM queue_messages m INDEXED BY queue_messages_group` + fullJoins + `
		WHERE m.locking = 1 AND m.bucket = ? AND m.grp = ? AND m.due = 0 AND m.visible <= ? AND m.seq < ? ORDER BY m.seq LIMIT ?`
)

// fromRanks searches from rank to rank, so that it reads only visible messages.
func (r *receiver) fromRanks() error {
	for rank := int64(0); ; rank++ {
		var found sql.NullInt64
		if err := r.row(nextRank, []any{r.from.bucket, rank}, &found); err != nil || !found.Valid {
			return err
		}
		rank = found.Int64
		visible, seq := int64(-1), int64(-1) // of the last examined message, to examine none twice
		for r.left() > 0 {
			rows, err := r.read(visibleOfRank, r.from.bucket, rank, r.now, visible, seq, r.left())
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				break
			}
			visible, seq = rows[len(rows)-1].Visible, rows[len(rows)-1].seq
			for i := range rows {
				if _, err := r.look(&rows[i]); err != nil {
					return err
				}
			}
			if r.claim.Visibility == 0 && len(r.out.Messages) > 0 {
				break // they are visible again, behind the last one
			}
		}
		if r.left() == 0 {
			return nil
		}
		var later sql.NullInt64
		if err := r.row(firstOfRank, []any{r.from.bucket, rank, r.now}, &later); err != nil {
			return err
		}
		if later.Valid {
			r.later(later.Int64)
		}
	}
}

func (r *receiver) fromGroups() error {
	for r.left() > 0 {
		var groups []string
		err := r.each(readyGroups, []any{r.from.bucket, r.now, r.left()}, func(rows *sql.Rows) error {
			var ready int64
			groups = append(groups, "")
			return rows.Scan(&groups[len(groups)-1], &ready)
		})
		if err != nil {
			return err
		}
		for _, group := range groups {
			if r.left() == 0 {
				break
			}
			if err := r.fromGroup(group); err != nil {
				return err
			}
		}
		if err := r.regroup(); err != nil { // for the next round
			return err
		}
		if len(groups) == 0 || r.claim.Visibility == 0 && len(r.out.Messages) > 0 {
			break
		}
	}
	var ready sql.NullInt64
	if err := r.row(firstGroup, []any{r.from.bucket, r.now}, &ready); err != nil {
		return err
	}
	if ready.Valid {
		r.later(ready.Int64)
	}
	return nil
}

func (r *receiver) fromGroup(group string) error {
	before, _, err := r.lock(groupKey{r.from.bucket, group})
	if err != nil {
		return err
	}
	rows, err := r.read(ofGroup, r.from.bucket, group, r.now, before, r.left())
	if err != nil {
		return err
	}
	r.touch(&messageRow{bucket: r.from.bucket, group: group, locking: true})
	for i := range rows {
		step, err := r.look(&rows[i])
		if err != nil {
			return err
		}
		if step == lease.Pass { // no message overtakes it
			r.over = r.over || r.groups[groupKey{r.from.bucket, group}].copy.IsZero() // a suspect: it goes first in the next receive
			return nil
		}
	}
	return nil
}

func (r *receiver) read(query string, args ...any) (found []fullRow, err error) {
	found = make([]fullRow, 0, min(r.left(), 16))
	err = r.each(query, args, func(rows *sql.Rows) error {
		f, err := scanFull(rows.Scan)
		found = append(found, f)
		return err
	})
	return found, err
}

// look decides what to do with one visible message. Bury also means that the message is
// gone.
func (r *receiver) look(m *fullRow) (lease.Step, error) {
	if r.over {
		return lease.Pass, nil
	}
	r.looks++
	if there, err := r.refresh(&m.messageRow); err != nil || !there {
		return lease.Bury, err
	}
	if m.since <= r.now-r.claim.Retention.Microseconds() {
		return lease.Bury, r.gained(r.lapse(&m.messageRow, r.from, r.claim.Policy, r.claim.Retention))
	}
	var k *poison.Case
	var until int64 // end of its copies' flight
	if m.Judged(r.claim.Policy) {
		var err error
		if k, until, err = r.about(&m.messageRow); err != nil {
			return lease.Pass, err
		}
	}
	before := m.Hold
	ruling := m.Receive(r.claim, k, until > 0, len(r.out.Messages) == 0, r.now)
	if err := r.changedCase(r.from, &m.messageRow, k, ruling.Case); err != nil {
		return lease.Pass, err
	}
	switch ruling.Step {
	case lease.Bury:
		return ruling.Step, r.gained(r.bury(&m.messageRow, r.from, r.claim.Policy, ruling.Cause))
	case lease.Pass:
		if until > 0 {
			r.out.Held = true
			return ruling.Step, r.park(&m.messageRow, until)
		}
		if m.Hold == before {
			return ruling.Step, nil // nothing has changed
		}
	case lease.Defer:
		r.out.Due = true
	case lease.Give, lease.Only:
		r.give(m, ruling.Step == lease.Only)
	}
	r.reached(inClaim)
	return ruling.Step, r.update(&m.messageRow)
}

// about returns the case of a message's payload, and the time until which it may have to
// wait for copies in flight; 0: no wait.
func (r *receiver) about(m *messageRow) (k *poison.Case, until int64, err error) {
	if k, err = r.findCase(r.from.ID, m.Payload); err != nil {
		return k, 0, err
	}
	if free(k) { // there may be many in flight, and only those with vanished workers matter
		vanished := r.cache.vanished.of(m.key())
		if k, until, err = r.settled(m, k, vanished); err != nil {
			return k, until, err
		}
		if free(k) && !slices.Contains(vanished, m.seq) { // its own end makes it a suspect
			return k, until, nil
		}
	}
	return r.settled(m, k, r.cache.flying.of(m.key()))
}

// free reports whether copies need not wait for each other.
func free(k *poison.Case) bool { return k != nil && k.State == poison.Watched && k.Proven }

// settled returns the case of a payload after the deliveries of copies with expired leases
// have ended, and the time until which another copy is in flight.
func (r *receiver) settled(m *messageRow, k *poison.Case, copies []int64) (*poison.Case, int64, error) {
	if len(copies) == 0 {
		return k, 0, nil
	}
	until, err := r.settleCopies(m, copies)
	if err != nil {
		return k, 0, err
	}
	k, err = r.findCase(r.from.ID, m.Payload)
	return k, until, err
}

func (r *receiver) give(m *fullRow, alone bool) {
	if m.recognised() {
		if r.given == nil {
			r.given = make(map[int64]bool)
		}
		r.given[m.seq] = true
	}
	m.FillMessage(&m.message, r.now)
	m.message.Alone = alone
	m.message.Receipt = queue.Receipt{Bucket: m.bucket, Sequence: m.seq, Generation: m.Generation}
	r.out.Messages = append(r.out.Messages, m.message)
	r.over = r.over || alone
}

// gained records that a queue has more messages.
func (r *receiver) gained(name string, err error) error {
	if name != "" {
		r.out.Queues = append(r.out.Queues, name)
	}
	return err
}
