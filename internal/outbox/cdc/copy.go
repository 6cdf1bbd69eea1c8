package cdc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bezoar-dev/bezoar/outbox"
)

// copyTables writes an event for each row of the tables that still have to be copied. With
// the snapshot of a new slot, the slot contains exactly the later changes. Without one,
// after an interruption or for an added table, the slot repeats some changes that the
// copied rows already include. Then the last event of a row is correct, and an earlier one
// may be older than the copy.
func (c *Capture) copyTables(ctx context.Context, writer *pgx.Conn, now *progress, at snapshot) error {
	defer func() { at.release() }()
	var todo []*plan
	for _, p := range c.plans {
		if p.copy && !slices.Contains(now.copied, p.String()) {
			todo = append(todo, p)
		}
	}
	if len(todo) == 0 {
		return nil
	}
	source, err := c.reader.c.connect(ctx)
	if err != nil {
		return err
	}
	defer closeConn(source)
	return pgx.BeginTxFunc(ctx, source, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if at.name != "" {
			if _, err := tx.Exec(ctx, "SET TRANSACTION SNAPSHOT '"+strings.ReplaceAll(at.name, "'", "''")+"'"); err != nil {
				return err
			}
		}
		for _, p := range todo {
			if err := c.copyTable(ctx, tx, writer, p, Transaction{Commit: now.position}); err != nil {
				if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == "42501" {
					user := quoted(source.Config().User)
					return fmt.Errorf("the role %s may not copy %s: GRANT SELECT ON %s TO %s: %w", user, p.table, p.quoted(), user, err)
				}
				return fmt.Errorf("copy %s: %w", p.table, err)
			}
			now.copied = append(now.copied, p.String())
			if err := c.reader.c.start(ctx, writer, c.schema, *now); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *Capture) copyTable(ctx context.Context, from pgx.Tx, writer *pgx.Conn, p *plan, at Transaction) error {
	columns, err := copied(ctx, from, p.table)
	if err != nil {
		return err
	}
	only := "ONLY "
	if err := from.QueryRow(ctx, `SELECT CASE c.relkind WHEN 'p' THEN '' ELSE 'ONLY ' END FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2`, p.schema, p.name).Scan(&only); err != nil {
		return err
	}
	if _, err := from.Exec(ctx, "DECLARE bezoar_copy NO SCROLL CURSOR FOR SELECT "+columns+" FROM "+only+p.quoted()); err != nil {
		return err
	}
	fetch := fmt.Sprintf("FETCH %d FROM bezoar_copy", c.c.Rows)
	for {
		if err := c.room(ctx, writer); err != nil {
			return err
		}
		r := from.Conn().PgConn().ExecParams(ctx, fetch, nil, nil, nil, nil).Read() // in text format
		if r.Err != nil {
			return r.Err
		}
		if len(r.Rows) == 0 {
			_, err := from.Exec(ctx, "CLOSE bezoar_copy")
			return err
		}
		rel := &Relation{Schema: p.schema, Name: p.name}
		for _, f := range r.FieldDescriptions {
			rel.Columns = append(rel.Columns, Column{Name: f.Name, Type: f.DataTypeOID})
		}
		var events []outbox.Event
		for _, raw := range r.Rows {
			change := Change{Relation: rel, Op: Snapshot, New: make([]Value, len(raw))}
			for i, v := range raw {
				change.New[i] = Value{Null: v == nil, Text: v}
			}
			events = append(events, p.event(at, change, change.New, ""))
		}
		if err := pgx.BeginFunc(ctx, writer, func(tx pgx.Tx) error {
			return c.write(ctx, tx, events)
		}); err != nil {
			return err
		}
	}
}

// copied returns the columns that replication includes, which excludes generated columns.
func copied(ctx context.Context, tx pgx.Tx, t table) (string, error) {
	rows, err := tx.Query(ctx, `SELECT quote_ident(a.attname) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
		JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2
		AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum`, t.schema, t.name)
	if err != nil {
		return "", err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return strings.Join(names, ", "), err
}
