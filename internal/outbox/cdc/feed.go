package cdc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/outbox"
)

const (
	feedRecords = 500                    // maximum number of records passed at once
	feedBytes   = 256 << 10              // the same, in bytes
	farBehind   = 256 << 20              // bytes of WAL; a feed that starts further behind skips them, because polling is faster
	feedLinger  = 500 * time.Microsecond // how long a record waits for others
)

// FeedConfig selects the outbox that a [Feed] reads.
type FeedConfig struct {
	Config
	Schema string // of the outbox
}

// Validate returns one error that names every invalid field, or nil.
func (c FeedConfig) Validate() error {
	err := c.Config.Validate()
	if !validName(c.Schema) {
		err = errors.Join(err, fmt.Errorf("Schema: %.80q must be 1 to 63 characters of a-z, 0-9 and _", c.Schema))
	}
	return err
}

// Feed is an [outbox.Feed] that passes the events of an outbox to the relay as they are
// committed. It creates its slot and its publication. It recreates a lost slot, since the
// tables have every event.
type Feed struct {
	reader
	far int64 // bytes of WAL; farBehind except in tests
}

// NewFeed checks c. It does not connect.
func NewFeed(c FeedConfig) (*Feed, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	f := &Feed{reader: reader{c: c.Config.withDefaults(), schema: c.Schema}, far: farBehind}
	f.reader.c.binary = true
	f.say(Starting, "")
	return f, nil
}

// Run passes events to give until ctx ends or an error occurs.
func (f *Feed) Run(ctx context.Context, give func([]outbox.Record)) error {
	err := f.run(ctx, give)
	f.ended(ctx, err)
	return err
}

func (f *Feed) run(ctx context.Context, give func([]outbox.Record)) error {
	f.say(Starting, "")
	conn, err := f.c.connect(ctx)
	if err != nil {
		return err
	}
	defer closeConn(conn)
	position, err := f.prepare(ctx, conn)
	if err != nil {
		return err
	}
	return f.read(ctx, conn, position, &feedReceiver{give: give}, func(ctx context.Context, s *Stream) error {
		if err := f.publication().watch(ctx, conn); err != nil {
			return err
		}
		return f.note(ctx, conn, s)
	})
}

func (f *Feed) publication() publication {
	return publication{name: f.c.Publication, tables: []table{{f.schema, "events"}}, publish: "insert"}
}

// note stores the feed's progress, and then lets the stream confirm up to this position and
// no further: a slot that is ahead of the stored progress must be a different slot.
func (f *Feed) note(ctx context.Context, conn *pgx.Conn, s *Stream) error {
	position, _ := s.track.position()
	_, err := conn.Exec(ctx, fmt.Sprintf("UPDATE %s SET position = $2::pg_lsn, changed_at = now() WHERE slot = $1",
		quoted(f.schema, "cdc")), f.c.Slot, position.String())
	if err == nil {
		s.gate.Store(uint64(position))
	}
	return err
}

// prepare ensures that the publication and the slot exist, and returns where to start
// reading.
func (f *Feed) prepare(ctx context.Context, conn *pgx.Conn) (LSN, error) {
	if _, err := conn.Exec(ctx, SQL(f.schema)); err != nil {
		return 0, fmt.Errorf("make the table of readers: %w", err)
	}
	if _, err := f.publication().ensure(ctx, conn); err != nil {
		return 0, err
	}
	at, err := identify(ctx, f.c)
	if err != nil {
		return 0, err
	}
	before, err := f.c.progress(ctx, conn, f.schema)
	if err != nil {
		return 0, err
	}
	s, err := f.c.look(ctx, conn)
	if err != nil {
		return 0, err
	}
	if s != nil {
		if err := s.usable(f.c, conn.Config().Database); err != nil {
			return 0, err
		}
	}
	lost := gap(before, at, s)
	if lost != "" {
		lost += "; the relay has found the events of that time by polling"
		f.c.Log.Warn("the slot of an outbox was lost", "slot", f.c.Slot, "reason", lost)
		f.say(Starting, lost)
	}
	position, err := f.renew(ctx, conn, s)
	if err != nil {
		return 0, err
	}
	return position, f.c.start(ctx, conn, f.schema, progress{identity: at, position: position})
}

// renew returns the position of the slot. It creates the slot if there is none, or none
// that can be read. It moves a slot that is far behind to the end of the WAL.
func (f *Feed) renew(ctx context.Context, conn *pgx.Conn, s *slot) (LSN, error) {
	if s != nil && s.status != "lost" {
		position := s.confirmed
		err := conn.QueryRow(ctx, `SELECT coalesce((SELECT end_lsn FROM pg_replication_slot_advance(slot_name, pg_current_wal_lsn())), confirmed_flush_lsn)::text
			FROM pg_replication_slots WHERE slot_name = $1 AND active_pid IS NULL AND pg_current_wal_lsn() - confirmed_flush_lsn > $2`, f.c.Slot, f.far).
			Scan(&position)
		if err == nil {
			f.c.Log.Info("the slot of an outbox was far behind; the relay finds the skipped events by polling", "slot", f.c.Slot, "from", s.confirmed, "to", position)
		} else if !errors.Is(err, pgx.ErrNoRows) {
			return 0, fmt.Errorf("move slot %s on: %w", f.c.Slot, err)
		}
		return position, nil
	}
	if s != nil {
		if err := f.c.drop(ctx, conn); err != nil {
			return 0, err
		}
	}
	repl, err := f.c.replicate(ctx)
	if err != nil {
		return 0, err
	}
	defer closeConn(repl)
	position, _, err := f.c.create(ctx, repl, false)
	return position, err
}

// gap describes the changes that a reader misses if it was at before and continues with
// slot s on the server at. Empty: none.
func gap(before *progress, at identity, s *slot) string {
	if before == nil {
		return ""
	}
	after := ""
	switch {
	case before.system != at.system:
		return fmt.Sprintf("the database is now in another cluster (%s; it was %s)", at.system, before.system)
	case before.timeline != at.timeline:
		after = fmt.Sprintf(" after the promotion of a standby (timeline %d; it was %d)", at.timeline, before.timeline)
	}
	switch {
	case s == nil:
		return fmt.Sprintf("the slot is gone%s: changes committed after %s are missing", after, before.position)
	case s.status == "lost":
		return fmt.Sprintf("the server removed WAL that the slot needs, because of max_slot_wal_keep_size: changes committed after %s are missing", before.position)
	case s.confirmed > before.position:
		return fmt.Sprintf("the slot was recreated or moved%s: changes committed between %s and %s are missing", after, before.position, s.confirmed)
	}
	return ""
}

// feedReceiver collects records until there are enough, or for feedLinger.
type feedReceiver struct {
	give  func([]outbox.Record)
	batch []outbox.Record
	bytes int
	due   time.Time
	done  []func()
	rel   *Relation
	cols  eventColumns
}

func (r *feedReceiver) Begin(Transaction) {}

// Change adds a record. Its transaction is already committed: the server sends committed
// transactions only.
func (r *feedReceiver) Change(ctx context.Context, c Change) error {
	if c.Op != Insert {
		return nil
	}
	if c.Relation != r.rel {
		cols, err := columnsOf(c.Relation)
		if err != nil {
			return err
		}
		r.rel, r.cols = c.Relation, cols
	}
	record, err := r.cols.record(c.New)
	if err != nil {
		return err
	}
	r.batch = append(r.batch, record)
	r.bytes += len(record.Payload) + len(record.Key)
	if len(r.batch) >= feedRecords || r.bytes >= feedBytes {
		return r.Flush(ctx)
	}
	r.wait()
	return nil
}

func (r *feedReceiver) wait() {
	if r.due.IsZero() {
		r.due = time.Now().Add(feedLinger)
	}
}

func (r *feedReceiver) Commit(_ context.Context, _ LSN, done func()) error {
	if len(r.batch) == 0 {
		done()
		return nil
	}
	r.done = append(r.done, done)
	return nil
}

func (r *feedReceiver) Due() time.Time { return r.due }

func (r *feedReceiver) Flush(context.Context) error {
	batch, done := r.batch, r.done
	r.batch, r.done, r.bytes, r.due = nil, nil, 0, time.Time{}
	if len(batch) > 0 {
		r.give(batch)
	}
	for _, d := range done {
		d()
	}
	return nil
}
