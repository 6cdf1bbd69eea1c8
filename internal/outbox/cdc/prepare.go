package cdc

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// prepare ensures that tables, publication and slot are as required, copies tables if
// necessary, and returns where to start reading.
func (c *Capture) prepare(ctx context.Context, conn, writer *pgx.Conn) (*progress, error) {
	c.say(Starting, "")
	if _, err := conn.Exec(ctx, SQL(c.schema)); err != nil {
		return nil, fmt.Errorf("make the table of readers: %w", err)
	}
	for _, p := range c.plans {
		if err := p.check(ctx, conn); err != nil {
			return nil, err
		}
	}
	added, err := c.c.publication(c.plans).ensure(ctx, conn)
	if err != nil {
		return nil, err
	}
	at, err := identify(ctx, c.reader.c)
	if err != nil {
		return nil, err
	}
	before, err := c.reader.c.progress(ctx, conn, c.schema)
	if err != nil {
		return nil, err
	}
	s, err := c.reader.c.look(ctx, conn)
	if err != nil {
		return nil, err
	}
	if s != nil {
		if err := s.usable(c.reader.c, conn.Config().Database); err != nil {
			return nil, &brokenError{err.Error() + "; see bezoar outbox slots --reset " + c.c.Slot}
		}
	}
	if lost := gap(before, at, s); lost != "" {
		if !c.c.CopyOnLoss {
			return nil, &brokenError{lost + ". Either copy the tables again (copy_on_loss), or continue without these changes: bezoar outbox slots --reset " +
				c.c.Slot}
		}
		c.reader.c.Log.Error("changes of tables are missing; the tables are copied again", "slot", c.c.Slot, "reason", lost)
		c.say(Starting, lost+"; the tables were copied again")
		before = nil
	}
	if before != nil {
		c.again(before, added)
	}
	now, snapshot, err := c.begin(ctx, conn, before, s, at)
	if err != nil {
		return nil, err
	}
	return now, c.copyTables(ctx, writer, now, snapshot)
}

// again reports that the events of added tables begin now. If a table of the same name was
// copied earlier, it has since been dropped or unpublished, and is copied again.
func (c *Capture) again(before *progress, added []table) {
	for _, t := range added {
		what := fmt.Sprintf("%s is published from now on; its earlier changes produce no events", t)
		if c.plans[t].copy {
			what = fmt.Sprintf("%s is published from now on and will be copied", t)
		}
		before.copied = slices.DeleteFunc(before.copied, func(name string) bool { return name == t.String() })
		c.reader.c.Log.Warn(what, "slot", c.c.Slot)
		c.say(Starting, what)
	}
}

// check returns an error if changes of a table cannot be read, or if publishing the table
// would make the database reject the application's updates and deletes.
func (p *plan) check(ctx context.Context, conn *pgx.Conn) error {
	var kind, identity string
	var found int
	err := conn.QueryRow(ctx, `SELECT count(*), coalesce(min(c.relkind::text), ''), coalesce(min(c.relreplident::text), '')
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2`, p.schema, p.name).
		Scan(&found, &kind, &identity)
	if err != nil {
		return err
	}
	if p.primary, err = primaryKey(ctx, conn, p.table); err != nil {
		return err
	}
	switch {
	case found == 0:
		return &brokenError{fmt.Sprintf("there is no table %s", p.table)}
	case kind != "r" && kind != "p":
		return &brokenError{fmt.Sprintf("%s is not a table", p.table)}
	case identity == "n", identity == "d" && len(p.primary) == 0:
		return &brokenError{fmt.Sprintf("table %s has no primary key and no replica identity: once it is published, the database refuses "+
			"to update and delete its rows. Add a primary key, or: ALTER TABLE %s REPLICA IDENTITY FULL", p.table, p.quoted())}
	}
	if column := p.untold(); identity != "f" && column != "" {
		return &brokenError{fmt.Sprintf("the topic or the key of the events of %s uses the column %s, which PostgreSQL does not report for deleted rows. "+
			"Use columns of the primary key, or: ALTER TABLE %s REPLICA IDENTITY FULL", p.table, column, p.quoted())}
	}
	return nil
}

// untold returns a column that the topic or the key uses and the replica identity lacks.
func (p *plan) untold() string {
	for _, part := range slices.Concat(p.topic.parts, p.key.parts) {
		if part.row && !slices.Contains(p.primary, part.place) {
			return part.place
		}
	}
	return ""
}

// look reads the primary key again. If the table was dropped, it keeps the old key, which
// fits the earlier changes.
func (p *plan) look(ctx context.Context, conn *pgx.Conn) error {
	key, err := primaryKey(ctx, conn, p.table)
	if err != nil {
		return err
	}
	there := true
	if len(key) == 0 {
		err = conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", p.quoted()).Scan(&there)
	}
	if there {
		p.primary = key
	}
	return err
}

// primaryKey returns the columns of the primary key, or of the index that replaces it as
// the replica identity.
func primaryKey(ctx context.Context, conn *pgx.Conn, t table) ([]string, error) {
	rows, err := conn.Query(ctx, `SELECT a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
		JOIN pg_namespace n ON n.oid = c.relnamespace
		CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY k (number, place)
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number
		WHERE n.nspname = $1 AND c.relname = $2 AND CASE c.relreplident WHEN 'i' THEN i.indisreplident ELSE i.indisprimary END
		ORDER BY k.place`, t.schema, t.name)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// snapshot shows the database as of the start of a slot, until release is called.
type snapshot struct {
	name    string // empty: the current state
	release func()
}

// begin returns where to start reading: the stored progress, or the start of a newly
// created slot. For a new slot it also returns the slot's snapshot.
func (c *Capture) begin(ctx context.Context, conn *pgx.Conn, before *progress, s *slot, at identity) (*progress, snapshot, error) {
	none := snapshot{release: func() {}}
	if before != nil {
		before.identity = at
		return before, none, c.reader.c.start(ctx, conn, c.schema, *before)
	}
	if s != nil && s.status == "lost" {
		if err := c.reader.c.drop(ctx, conn); err != nil {
			return nil, none, err
		}
		s = nil
	}
	now := &progress{identity: at}
	if s != nil { // the slot exists, but was never read
		now.position = s.confirmed
		return now, none, c.reader.c.start(ctx, conn, c.schema, *now)
	}
	repl, err := c.reader.c.replicate(ctx)
	if err != nil {
		return nil, none, err
	}
	made := snapshot{release: func() { closeConn(repl) }}
	if now.position, made.name, err = c.reader.c.create(ctx, repl, true); err == nil {
		err = c.reader.c.start(ctx, conn, c.schema, *now)
	}
	if err != nil {
		made.release()
		return nil, none, err
	}
	return now, made, nil
}
