package cdc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/each"
)

// lockWithin limits how long adding a table may block its writers.
const lockWithin = 3 * time.Second

// publication describes the required publication.
type publication struct {
	name    string
	tables  []table
	publish string // insert; insert, update, delete
}

type table struct{ schema, name string }

func (t table) String() string { return t.schema + "." + t.name }
func (t table) quoted() string { return quoted(t.schema, t.name) }

// sql returns the statement that creates the publication.
func (p publication) sql() string {
	return fmt.Sprintf("CREATE PUBLICATION %s FOR TABLE %s WITH (publish = '%s', publish_via_partition_root = true)",
		quoted(p.name), p.list(), p.publish)
}

func (p publication) list() string {
	return strings.Join(each.Of(p.tables, table.quoted), ", ")
}

// ensure creates the publication, or checks and adjusts an existing one. It returns the
// tables that were added.
func (p publication) ensure(ctx context.Context, conn *pgx.Conn) ([]table, error) {
	var operations string
	var root, all bool
	err := conn.QueryRow(ctx, `SELECT concat_ws(', ', CASE WHEN pubinsert THEN 'insert' END,
		CASE WHEN pubupdate THEN 'update' END, CASE WHEN pubdelete THEN 'delete' END, CASE WHEN pubtruncate THEN 'truncate' END),
		pubviaroot, puballtables FROM pg_publication WHERE pubname = $1`, p.name).Scan(&operations, &root, &all)
	if errors.Is(err, pgx.ErrNoRows) {
		if _, err := conn.Exec(ctx, p.sql()); err != nil {
			return nil, fmt.Errorf("create publication %s: %w; its owner can: %s", p.name, err, p.sql())
		}
		return p.tables, nil
	}
	if err != nil {
		return nil, err
	}
	if operations != p.publish || !root || all {
		return nil, fmt.Errorf("publication %s publishes %s (all tables: %v, by the names of partitioned tables: %v); drop it, or change it to: %s",
			p.name, operations, all, root, p.sql())
	}
	return p.adjust(ctx, conn)
}

func (p publication) published(ctx context.Context, conn *pgx.Conn) ([]table, error) {
	rows, err := conn.Query(ctx, `SELECT n.nspname, c.relname FROM pg_publication p JOIN pg_publication_rel r ON r.prpubid = p.oid
		JOIN pg_class c ON c.oid = r.prrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE p.pubname = $1`, p.name)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (t table, err error) {
		err = r.Scan(&t.schema, &t.name)
		return t, err
	})
}

// missing returns the tables that are not in the publication.
func (p publication) missing(have []table) (out []table) {
	for _, t := range p.tables {
		if !slices.Contains(have, t) {
			out = append(out, t)
		}
	}
	return out
}

// watch returns an error if a table is no longer published. PostgreSQL does not report that
// a table was dropped, or recreated under the same name.
func (p publication) watch(ctx context.Context, conn *pgx.Conn) error {
	have, err := p.published(ctx, conn)
	if err != nil {
		return err
	}
	if gone := p.missing(have); len(gone) > 0 {
		return fmt.Errorf("%s is no longer in the publication %s: the table was dropped or removed from the publication", gone[0], p.name)
	}
	return nil
}

// adjust changes the list of published tables. It locks a new table against writers for a
// moment. Without the lock, neither the publication nor a later copy would include the rows
// of a transaction that wrote before and commits afterwards.
func (p publication) adjust(ctx context.Context, conn *pgx.Conn) ([]table, error) {
	have, err := p.published(ctx, conn)
	if err != nil {
		return nil, err
	}
	added := publication{tables: p.missing(have)}
	if len(added.tables) == 0 && len(have) == len(p.tables) {
		return nil, nil
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
		return nil, fmt.Errorf("change publication %s: %w; its owner can: %s", p.name, err, alter)
	}
	return added.tables, nil
}
