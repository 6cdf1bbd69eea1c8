package cdc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// lockWithin bounds how long adding a table may make its writers wait.
const lockWithin = 3 * time.Second

// publication is what a publication has to publish.
type publication struct {
	name    string
	tables  []table
	publish string // insert; insert, update, delete
}

type table struct{ schema, name string }

func (t table) String() string { return t.schema + "." + t.name }
func (t table) quoted() string { return quoted(t.schema, t.name) }

// sql is the statement that makes the publication.
func (p publication) sql() string {
	return fmt.Sprintf("CREATE PUBLICATION %s FOR TABLE %s WITH (publish = '%s', publish_via_partition_root = true)",
		quoted(p.name), p.list(), p.publish)
}

func (p publication) list() string {
	var names []string
	for _, t := range p.tables {
		names = append(names, t.quoted())
	}
	return strings.Join(names, ", ")
}

// ensure makes the publication, or sees that it is as it has to be.
func (p publication) ensure(ctx context.Context, conn *pgx.Conn) error {
	var operations string
	var root, all bool
	err := conn.QueryRow(ctx, `SELECT concat_ws(', ', CASE WHEN pubinsert THEN 'insert' END,
		CASE WHEN pubupdate THEN 'update' END, CASE WHEN pubdelete THEN 'delete' END, CASE WHEN pubtruncate THEN 'truncate' END),
		pubviaroot, puballtables FROM pg_publication WHERE pubname = $1`, p.name).Scan(&operations, &root, &all)
	if errors.Is(err, pgx.ErrNoRows) {
		if _, err := conn.Exec(ctx, p.sql()); err != nil {
			return fmt.Errorf("create publication %s: %w; its owner can: %s", p.name, err, p.sql())
		}
		return nil
	}
	if err != nil {
		return err
	}
	if operations != p.publish || !root || all {
		return fmt.Errorf("publication %s publishes %s (all tables: %v, by the names of partitioned tables: %v); drop it, or make it so: %s",
			p.name, operations, all, root, p.sql())
	}
	return p.adjust(ctx, conn)
}

// adjust changes which tables are published. A new table is locked against writers
// for that moment: of a transaction that wrote before and commits afterwards, neither
// the publication nor a copy made later would have the rows.
func (p publication) adjust(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, `SELECT n.nspname, c.relname FROM pg_publication p JOIN pg_publication_rel r ON r.prpubid = p.oid
		JOIN pg_class c ON c.oid = r.prrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE p.pubname = $1`, p.name)
	if err != nil {
		return err
	}
	have, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (t table, err error) {
		err = r.Scan(&t.schema, &t.name)
		return t, err
	})
	if err != nil {
		return err
	}
	var added publication
	for _, t := range p.tables {
		if !slices.Contains(have, t) {
			added.tables = append(added.tables, t)
		}
	}
	if len(added.tables) == 0 && len(have) == len(p.tables) {
		return nil
	}
	alter := fmt.Sprintf("ALTER PUBLICATION %s SET TABLE %s", quoted(p.name), p.list())
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if len(added.tables) > 0 {
			if _, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d", lockWithin.Milliseconds())); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, "LOCK TABLE "+added.list()+" IN SHARE ROW EXCLUSIVE MODE"); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, alter)
		return err
	})
	if err != nil {
		return fmt.Errorf("change publication %s: %w; its owner can: %s", p.name, err, alter)
	}
	return nil
}
