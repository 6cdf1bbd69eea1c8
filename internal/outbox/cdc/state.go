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

// SQL makes the table in which readers note how far they are, in the schema of an
// outbox. It may be run again.
func SQL(schema string) string { return strings.ReplaceAll(stateSQL, "{schema}", quoted(schema)) }

// identity is which server a slot is on.
type identity struct {
	system   string // the cluster, across promotions
	timeline int32  // grows with every promotion
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

// progress is a row of the table: how far a reader is, and on which server.
type progress struct {
	identity
	position LSN      // everything that was committed before is done
	partial  LSN      // the transaction of which a part is done; 0: none
	changes  int64    // how many of its changes are
	copied   []string // tables whose rows were copied
}

// errMoved is the fault of a reader that another one has replaced.
var errMoved = errors.New("another reader of the slot has gone on")

// progress returns nil when the slot was never read.
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

// start writes the row of a slot that is new, or that goes on elsewhere.
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

// advance replaces from by to, unless the row is not from any more.
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

// Health is how a reader is.
type Health string

// The states of a reader.
const (
	Starting Health = "starting" // it connects, or copies tables
	Reading  Health = "reading"
	Stalled  Health = "stalled" // heartbeats do not come back: nothing arrives, or nothing is taken
	Full     Health = "full"    // the outbox has no room; the server keeps the WAL
	Waiting  Health = "waiting" // another process reads
	Stopped  Health = "stopped"
	Failing  Health = "failing" // see Reason; it tries again
	Broken   Health = "broken"  // see Reason; somebody has to act
)

// Status is what a reader says about itself.
type Status struct {
	Slot   string
	Health Health
	Reason string    // why it does not read, or what was wrong when it last began
	Since  time.Time // of Health
	PID    uint32    // of the server's process; 0: none
	// Position is up to where everything is done; Received what has arrived.
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

// tell writes what the reader says into its row, for the command line.
func (c Config) tell(ctx context.Context, conn *pgx.Conn, schema string, s Status) error {
	_, err := conn.Exec(ctx, fmt.Sprintf(`UPDATE %s SET health = $2, reason = $3, health_at = $4 WHERE slot = $1`,
		quoted(schema, "cdc")), c.Slot, string(s.Health), s.Reason, s.Since)
	return err
}
