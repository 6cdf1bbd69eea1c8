package cdc

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const plugin = "pgoutput"

// slot is a server's description of a slot.
type slot struct {
	plugin, database string
	status           string // status of its WAL; lost: removed
	pid              int    // of the process that reads it; 0: none
	confirmed        LSN
}

// look returns nil if the server has no such slot.
func (c Config) look(ctx context.Context, conn *pgx.Conn) (*slot, error) {
	var s slot
	err := conn.QueryRow(ctx, `SELECT coalesce(plugin::text, ''), coalesce(database::text, ''),
		coalesce(to_jsonb(s)->>'wal_status', ''), coalesce(active_pid, 0), coalesce(confirmed_flush_lsn, '0/0')::text
		FROM pg_replication_slots s WHERE slot_name = $1`, c.Slot).
		Scan(&s.plugin, &s.database, &s.status, &s.pid, &s.confirmed)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &s, err
}

// usable returns an error if c cannot read the slot, because it was created for something
// else.
func (s *slot) usable(c Config, database string) error {
	switch {
	case s.plugin == "":
		return fmt.Errorf("slot %s is a physical slot, not the outbox's", c.Slot)
	case s.plugin != plugin:
		return fmt.Errorf("slot %s uses the plugin %s, not %s", c.Slot, s.plugin, plugin)
	case s.database != database:
		return fmt.Errorf("slot %s belongs to the database %s, not to %s", c.Slot, s.database, database)
	}
	return nil
}

// create creates the slot and returns its start. With export, the returned snapshot shows
// the database as of that position, until conn is used again.
func (c Config) create(ctx context.Context, conn *pgconn.PgConn, export bool) (LSN, string, error) {
	snapshot := "nothing"
	if export {
		snapshot = "export"
	}
	// Since version 17, a standby can keep a copy of the slot that survives its promotion.
	options := fmt.Sprintf("(SNAPSHOT '%s', FAILOVER true)", snapshot)
	if v := version(conn); v < 15 {
		options = map[bool]string{true: "EXPORT_SNAPSHOT", false: "NOEXPORT_SNAPSHOT"}[export]
	} else if v < 17 {
		options = fmt.Sprintf("(SNAPSHOT '%s')", snapshot)
	}
	made, err := pglogrepl.ParseCreateReplicationSlot(conn.Exec(ctx,
		fmt.Sprintf("CREATE_REPLICATION_SLOT %s LOGICAL %s %s", c.Slot, plugin, options)))
	if err != nil {
		return 0, "", fmt.Errorf("create slot %s: %w", c.Slot, err)
	}
	at, err := pglogrepl.ParseLSN(made.ConsistentPoint)
	return at, made.SnapshotName, err
}

// drop removes the slot if it exists.
func (c Config) drop(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1", c.Slot)
	if err != nil {
		return fmt.Errorf("drop slot %s: %w", c.Slot, err)
	}
	return nil
}

// Drop removes the slot, the publication and their state in the outbox's schema, so that
// the server keeps no WAL for a reader that is no longer configured. Undelivered changes in
// the slot are lost. Drop does nothing if none of them exists.
func (c Config) Drop(ctx context.Context, schema string) error {
	if err := c.Validate(); err != nil {
		return err
	}
	conn, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer closeConn(conn)
	if err := c.drop(ctx, conn); err != nil {
		return err
	}
	if _, err = conn.Exec(ctx, "DROP PUBLICATION IF EXISTS "+quoted(c.Publication)); err != nil {
		return fmt.Errorf("drop publication %s: %w", c.Publication, err)
	}
	return c.forget(ctx, conn, schema)
}

// Reset lets a broken capture start again: it deletes the stored progress and the list of
// copied tables. Changes committed since then are lost unless tables are copied. A running
// capture notices the reset. Reset also drops an inactive slot of this name that was
// created for something else.
func (c Config) Reset(ctx context.Context, schema string) error {
	if err := c.Validate(); err != nil {
		return err
	}
	conn, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer closeConn(conn)
	s, err := c.look(ctx, conn)
	if err != nil {
		return fmt.Errorf("look at slot %s: %w", c.Slot, err)
	}
	if s != nil && s.usable(c, conn.Config().Database) != nil {
		switch {
		case s.plugin != "" && s.database != conn.Config().Database:
			return fmt.Errorf("slot %s belongs to the database %s; PostgreSQL can only drop it from there. If nothing needs it, run there: SELECT pg_drop_replication_slot('%s')",
				c.Slot, s.database, c.Slot)
		case s.pid != 0:
			return fmt.Errorf("slot %s was created for something else, and process %d of the server reads it: end that process first", c.Slot, s.pid)
		}
		if err := c.drop(ctx, conn); err != nil {
			return err
		}
	}
	return c.forget(ctx, conn, schema)
}

func (c Config) forget(ctx context.Context, conn *pgx.Conn, schema string) error {
	var there bool
	err := conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", quoted(schema, "cdc")).Scan(&there)
	if err == nil && there {
		_, err = conn.Exec(ctx, fmt.Sprintf("DELETE FROM %s WHERE slot = $1", quoted(schema, "cdc")), c.Slot)
	}
	return err
}

// quoted returns a name as an SQL identifier.
func quoted(parts ...string) string { return pgx.Identifier(parts).Sanitize() }
