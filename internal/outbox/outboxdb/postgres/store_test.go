package postgres_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/postgres"
	"github.com/bezoar-dev/bezoar/outbox"
	"github.com/bezoar-dev/bezoar/outbox/outboxtest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	d := newOutbox(t, connect(t, server(t)))
	outboxtest.Run(t, func(t testing.TB) outboxtest.Outbox {
		d.empty(t)
		return d.Outbox
	})
}

func server(t testing.TB) string {
	t.Helper()
	url := os.Getenv("BEZOAR_TEST_POSTGRES")
	if url == "" {
		t.Skip("BEZOAR_TEST_POSTGRES names no database; scripts/with-servers starts one")
	}
	return url
}

func connect(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// database is an outbox in a schema of its own.
type database struct {
	outboxtest.Outbox
	url, schema string
	pool        *pgxpool.Pool
}

func newOutbox(t testing.TB, pool *pgxpool.Pool) *database {
	t.Helper()
	ctx := t.Context()
	d := &database{url: pool.Config().ConnString(), schema: "o_" + strings.ToLower(rand.Text())[:12], pool: pool}
	if err := postgres.Init(ctx, postgres.Config{URL: d.url, Schema: d.schema, Notify: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := pool.Exec(context.Background(), `DROP SCHEMA `+d.schema+` CASCADE`); err != nil {
			t.Error(err)
		}
	})
	d.Outbox = outboxtest.Outbox{Store: d.open(t), Reopen: func(t testing.TB) outbox.Store { return d.open(t) }, Begin: d.begin, Age: d.age, Spoil: d.spoil}
	return d
}

// empty makes it as new; that is faster than a new one.
func (d *database) empty(t testing.TB) {
	t.Helper()
	var sql strings.Builder
	for _, table := range []string{"events", "pending", "flights", "keys", "lease", "notes"} {
		fmt.Fprintf(&sql, "DELETE FROM %s.%s;", d.schema, table)
	}
	fmt.Fprintf(&sql, "INSERT INTO %s.lease DEFAULT VALUES", d.schema)
	if _, err := d.pool.Exec(t.Context(), sql.String(), pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
}

func (d *database) open(t testing.TB) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Config{URL: d.url, Schema: d.schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (d *database) spoil(t testing.TB, id string, gone bool) {
	t.Helper()
	statement := `UPDATE ` + d.schema + `.events SET headers = '["x"]' WHERE id = $1`
	if gone {
		statement = `DELETE FROM ` + d.schema + `.events WHERE id = $1`
	}
	if _, err := d.pool.Exec(t.Context(), statement, id); err != nil {
		t.Fatal(err)
	}
}

type transaction struct {
	pgx.Tx
	schema string
}

func (d *database) begin(ctx context.Context) (outboxtest.Transaction, error) {
	tx, err := d.pool.Begin(ctx)
	return transaction{tx, d.schema}, err
}

func (tx transaction) Write(ctx context.Context, events ...outbox.Event) error {
	return outbox.Write(ctx, outbox.Pgx(tx.Tx).In(tx.schema), events...)
}

func (tx transaction) Rollback(ctx context.Context) error {
	if err := tx.Tx.Rollback(ctx); !errors.Is(err, pgx.ErrTxClosed) {
		return err
	}
	return nil
}

// age moves every partition, with its events, into the past.
func (d *database) age(t testing.TB, by time.Duration) {
	t.Helper()
	ctx := t.Context()
	err := pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT name::text, first, after FROM `+d.schema+`.partitions`)
		if err != nil {
			return err
		}
		type part struct {
			Name         string
			First, After time.Time
		}
		parts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[part])
		if err != nil {
			return err
		}
		var sql strings.Builder
		for _, p := range parts {
			fmt.Fprintf(&sql, "ALTER TABLE %[1]s.events DETACH PARTITION %[1]s.%[2]s; UPDATE %[1]s.%[2]s SET written_at = written_at - interval '%[3]d s';", d.schema, p.Name, int(by.Seconds()))
		}
		const form = "2006-01-02 15:04:05Z"
		for _, p := range parts {
			fmt.Fprintf(&sql, "ALTER TABLE %[1]s.events ATTACH PARTITION %[1]s.%[2]s FOR VALUES FROM ('%[3]s') TO ('%[4]s');", d.schema, p.Name,
				p.First.Add(-by).UTC().Format(form), p.After.Add(-by).UTC().Format(form))
		}
		fmt.Fprintf(&sql, "UPDATE %[1]s.partitions SET first = first - interval '%[2]d s', after = after - interval '%[2]d s'; UPDATE %[1]s.pending SET written_at = written_at - interval '%[2]d s'",
			d.schema, int(by.Seconds()))
		_, err = tx.Conn().PgConn().Exec(ctx, sql.String()).ReadAll()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
