package cdc

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"
)

//go:embed state.sql
var stateSQL string

// SQL returns the statement that creates the table for the readers' progress in an outbox's
// schema. It may be run repeatedly.
func SQL(schema string) string { return strings.ReplaceAll(stateSQL, "{schema}", quoted(schema)) }

// identity identifies the server of a slot.
type identity struct {
	system   string // of the cluster; promotions keep it
	timeline int32  // grows with each promotion
}

func identify(ctx context.Context, c Config) (identity, error) {
	conn, err := c.replicate(ctx)
	if err != nil {
		return identity{}, err
	}
	defer closeConn(conn)
	s, err := pglogrepl.IdentifySystem(ctx, conn)
	return identity{s.SystemID, s.Timeline}, err
}

// progress is a row of the table: the progress of a reader, and the server it applies to.
type progress struct {
	identity
	position LSN      // everything committed before is done
	partial  LSN      // a transaction that is partly done; 0: none
	changes  int64    // how many changes of this transaction are done
	copied   []string // tables that were copied
}

var errMoved = errors.New("another reader has taken over the slot")

// progress returns nil if the slot was never read.
func (c Config) progress(ctx context.Context, conn *pgx.Conn, schema string) (*progress, error) {
	var p progress
	err := conn.QueryRow(ctx, fmt.Sprintf(`SELECT system, timeline, position::text, partial::text, changes, copied
		FROM %s WHERE slot = $1`, quoted(schema, "cdc")), c.Slot).
		Scan(&p.system, &p.timeline, &p.position, &p.partial, &p.changes, &p.copied)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &p, err
}

// start writes the row of a slot that is new, or that continues on another server.
func (c Config) start(ctx context.Context, conn *pgx.Conn, schema string, p progress) error {
	if p.copied == nil {
		p.copied = []string{}
	}
	_, err := conn.Exec(ctx, fmt.Sprintf(`INSERT INTO %s AS c (slot, system, timeline, position, partial, changes, copied)
		VALUES ($1, $2, $3, $4::pg_lsn, $5::pg_lsn, $6, $7)
		ON CONFLICT (slot) DO UPDATE SET system = excluded.system, timeline = excluded.timeline, position = excluded.position,
			partial = excluded.partial, changes = excluded.changes, copied = excluded.copied, changed_at = now()`,
		quoted(schema, "cdc")), c.Slot, p.system, p.timeline, p.position.String(), p.partial.String(), p.changes, p.copied)
	return err
}

// advance replaces from with to. It fails if the row no longer equals from.
func (c Config) advance(ctx context.Context, tx pgx.Tx, schema string, from, to progress) error {
	tag, err := tx.Exec(ctx, fmt.Sprintf(`UPDATE %s SET position = $2::pg_lsn, partial = $3::pg_lsn, changes = $4, changed_at = now()
		WHERE slot = $1 AND system = $5 AND timeline = $6 AND position = $7::pg_lsn AND partial = $8::pg_lsn AND changes = $9`,
		quoted(schema, "cdc")), c.Slot, to.position.String(), to.partial.String(), to.changes,
		from.system, from.timeline, from.position.String(), from.partial.String(), from.changes)
	if err == nil && tag.RowsAffected() != 1 {
		err = errMoved
	}
	return err
}

// Health is the state of a reader.
type Health string

// The states of a reader.
const (
	Starting Health = "starting" // the reader connects, or copies tables
	Reading  Health = "reading"
	Stalled  Health = "stalled" // heartbeats do not come back: changes do not arrive, or are not processed
	Full     Health = "full"    // the outbox has no room; the server keeps the WAL
	Waiting  Health = "waiting" // another process reads the slot
	Stopped  Health = "stopped"
	Failing  Health = "failing" // the reader retries; see Reason
	Broken   Health = "broken"  // an operator must act; see Reason
)

// Status describes a reader.
type Status struct {
	Slot   string
	Health Health
	Reason string    // current problem, or the problem found at the last start
	Since  time.Time // start of the current Health
	PID    uint32    // server process; 0: none
	// Everything before Position is done. Everything before Received has arrived.
	Position, Received LSN
	Beat               time.Time // when a heartbeat last came back
}

func (s Status) String() string {
	out := s.Slot + " " + string(s.Health) + " since " + s.Since.UTC().Format(time.RFC3339)
	if s.PID != 0 {
		out += ", process " + strconv.Itoa(int(s.PID))
	}
	if s.Reason != "" {
		out += ": " + s.Reason
	}
	return out
}

// tell stores the status in the reader's row, where the command line finds it.
func (c Config) tell(ctx context.Context, conn *pgx.Conn, schema string, s Status) error {
	_, err := conn.Exec(ctx, fmt.Sprintf(`UPDATE %s SET health = $2, reason = $3, health_at = $4 WHERE slot = $1`,
		quoted(schema, "cdc")), c.Slot, string(s.Health), s.Reason, s.Since)
	return err
}
