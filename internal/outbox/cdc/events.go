package cdc

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/outbox"
)

const (
	captureBytes = 4 << 20         // maximum size of payloads per transaction
	roomEvery    = 5 * time.Second // interval between counts of undelivered events
	roomAgain    = time.Second     // the same, while the outbox is full
)

// captureReceiver writes changes into the outbox, many per transaction, together with its
// progress.
type captureReceiver struct {
	c      *Capture
	writer *pgx.Conn

	from progress // as stored in the database
	next progress // after the collected events are written
	tx   Transaction
	seen int64 // number of changes in tx

	events  []outbox.Event
	bytes   int
	due     time.Time
	done    []func()
	counted time.Time // when the outbox last had room
	last    *Relation
}

func (r *captureReceiver) Begin(tx Transaction) { r.tx, r.seen = tx, 0 }

func (r *captureReceiver) Change(ctx context.Context, change Change) error {
	r.seen++
	if r.tx.Commit == r.from.partial && r.seen <= r.from.changes {
		return nil // written before an interruption
	}
	p := r.c.plans[table{change.Relation.Schema, change.Relation.Name}]
	if p == nil {
		return nil // an event of the outbox itself
	}
	if change.Relation != r.last { // its columns may have changed
		if err := p.look(ctx, r.writer); err != nil {
			return err
		}
		r.last = change.Relation
	}
	for _, e := range p.eventsOf(r.tx, change, r.seen) {
		r.events = append(r.events, e)
		r.bytes += len(e.Payload)
	}
	r.next.partial, r.next.changes = r.tx.Commit, r.seen
	if len(r.events) >= r.c.c.Rows || r.bytes >= captureBytes {
		return r.Flush(ctx)
	}
	r.wait()
	return nil
}

func (r *captureReceiver) wait() {
	if r.due.IsZero() {
		r.due = time.Now().Add(r.c.c.Linger)
	}
}

func (r *captureReceiver) Commit(_ context.Context, end LSN, done func()) error {
	r.next.position, r.next.partial, r.next.changes = max(end, r.next.position), 0, 0
	r.done = append(r.done, done)
	r.wait()
	return nil
}

func (r *captureReceiver) Due() time.Time { return r.due }

// Flush writes the collected events and the progress in one transaction.
func (r *captureReceiver) Flush(ctx context.Context) error {
	if time.Since(r.counted) > roomEvery {
		if err := r.c.room(ctx, r.writer); err != nil {
			return err
		}
		r.counted = time.Now()
	}
	err := pgx.BeginFunc(ctx, r.writer, func(tx pgx.Tx) error {
		if len(r.events) > 0 {
			if err := r.c.write(ctx, tx, r.events); err != nil {
				return err
			}
		}
		return r.c.reader.c.advance(ctx, tx, r.c.schema, r.from, r.next)
	})
	if err != nil {
		return fmt.Errorf("write %d events: %w", len(r.events), err)
	}
	r.from = r.next
	for _, done := range r.done {
		done()
	}
	r.events, r.done, r.bytes, r.due = nil, nil, 0, time.Time{}
	return nil
}

// write is [outbox.Write], optimized for many events.
func (c *Capture) write(ctx context.Context, tx pgx.Tx, events []outbox.Event) error {
	n := len(events)
	topics, keys, types, ids, payloads := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([][]byte, n)
	for i, e := range events {
		topics[i], keys[i], types[i], ids[i], payloads[i] = e.Topic, e.Key, e.Type, e.ID, e.Payload
	}
	_, err := tx.Exec(ctx, "SELECT "+quoted(c.schema, "write_changes")+"($1, $2, $3, $4, $5)", topics, keys, types, payloads, ids)
	return err
}

// room waits until the outbox has room for events. Meanwhile the server keeps the WAL.
func (c *Capture) room(ctx context.Context, conn *pgx.Conn) error {
	for {
		var waiting int
		err := conn.QueryRow(ctx, fmt.Sprintf("SELECT count(*) FROM (SELECT FROM %s LIMIT $1) w", quoted(c.schema, "pending")), c.c.Waiting).Scan(&waiting)
		if err != nil || waiting < c.c.Waiting {
			if c.Status().Health == Full {
				c.say(Reading, "")
			}
			return err
		}
		c.say(Full, fmt.Sprintf("%d events wait in the outbox; reading pauses, and the server keeps the WAL", waiting))
		select {
		case <-time.After(roomAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// eventsOf returns the events of a change. An update that changes the key yields two
// events, one for the old key and one for the new key, because each key has its own order.
func (p *plan) eventsOf(tx Transaction, c Change, number int64) []outbox.Event {
	if c.Old != nil && !c.KeyOnly {
		for i := range c.New { // the old row has the unmodified large values
			if c.New[i].Unchanged && i < len(c.Old) {
				c.New[i] = c.Old[i]
			}
		}
	}
	// The ID is the same whenever and wherever this change is read, and differs in any
	// other history of the database.
	id := fmt.Sprintf("%016X-%X-%X-%d", uint64(tx.Commit), tx.XID, tx.Committed.UnixMicro(), number)
	if c.Op == Update && c.Old != nil {
		gone := c
		gone.Op, gone.New = Delete, nil
		if p.key.fill(gone, c.Old, p.primary) != p.key.fill(c, c.New, p.primary) {
			arrived := c
			arrived.Op, arrived.Old = Insert, nil
			return []outbox.Event{p.event(tx, gone, gone.Old, id+"-a"), p.event(tx, arrived, arrived.New, id+"-b")}
		}
	}
	row := c.New
	if row == nil {
		row = c.Old
	}
	return []outbox.Event{p.event(tx, c, row, id)}
}

func (p *plan) event(tx Transaction, c Change, row []Value, id string) outbox.Event {
	return outbox.Event{
		ID:      id,
		Topic:   asTopic(p.topic.fill(c, row, p.primary)),
		Key:     asKey(p.key.fill(c, row, p.primary)),
		Type:    asType(p.kind.fill(c, row, p.primary)),
		Payload: image(tx, c, p.omit),
	}
}
