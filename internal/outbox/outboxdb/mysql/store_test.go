package mysql_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/mysql"
	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/tables"
	"github.com/bezoar-dev/bezoar/outbox"
	"github.com/bezoar-dev/bezoar/outbox/outboxtest"
)

const (
	childURL    = "BEZOAR_TEST_OUTBOX_URL"
	childSchema = "BEZOAR_TEST_OUTBOX_SCHEMA"
)

func TestMain(m *testing.M) {
	child, is, err := outboxtest.ChildOf()
	if !is && err == nil {
		os.Exit(m.Run())
	}
	if err == nil {
		var s *tables.Store
		if s, err = mysql.Open(context.Background(), mysql.Config{URL: os.Getenv(childURL), Schema: os.Getenv(childSchema)}); err == nil {
			err = child.Relay(s)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

type database struct {
	outboxtest.Outbox
	url, schema string
	level       sql.IsolationLevel // of the application; 0: the server's, REPEATABLE READ
	app         *sql.DB
}

func newOutbox(t testing.TB) *database {
	t.Helper()
	dsn := os.Getenv("BEZOAR_TEST_MARIADB")
	if dsn == "" {
		t.Skip("BEZOAR_TEST_MARIADB names no database; scripts/with-servers --mariadb starts one")
	}
	m, err := driver.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u := url.URL{Scheme: "mysql", User: url.UserPassword(m.User, m.Passwd), Host: m.Addr, Path: m.DBName}
	d := &database{url: u.String(), schema: "o_" + strings.ToLower(rand.Text())[:12]}
	if err := mysql.Init(t.Context(), mysql.Config{URL: d.url, Schema: d.schema}); err != nil {
		t.Fatal(err)
	}
	if d.app, err = sql.Open("mysql", dsn); err != nil {
		t.Fatal(err)
	}
	const connections = 20
	d.app.SetMaxOpenConns(connections)
	t.Cleanup(func() {
		for _, table := range tableNames() {
			if _, err := d.app.ExecContext(context.Background(), "DROP TABLE "+d.schema+"_"+table); err != nil {
				t.Error(err)
			}
		}
		if _, err := d.app.ExecContext(context.Background(), "DROP PROCEDURE "+d.schema+"_write"); err != nil {
			t.Error(err)
		}
		_ = d.app.Close()
	})
	d.Outbox = outboxtest.Outbox{Store: d.open(t), Reopen: func(t testing.TB) outbox.Store { return d.open(t) }, Begin: d.begin, Age: d.age, Spoil: d.spoil, Victim: victim}
	return d
}

func tableNames() []string { return []string{"events", "pending", "flights", "keys", "lease", "meta"} }

// empty makes it as new; that is faster than a new one.
func (d *database) empty(t testing.TB) {
	t.Helper()
	for _, table := range tableNames()[:4] {
		if _, err := d.app.ExecContext(t.Context(), "DELETE FROM "+d.schema+"_"+table); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.app.ExecContext(t.Context(), "UPDATE "+d.schema+"_lease SET owner = '', epoch = 0, until = 0"); err != nil {
		t.Fatal(err)
	}
}

func (d *database) open(t testing.TB) *tables.Store {
	t.Helper()
	s, err := mysql.Open(t.Context(), mysql.Config{URL: d.url, Schema: d.schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (d *database) spoil(t testing.TB, id string, gone bool) {
	t.Helper()
	statement := `UPDATE ` + d.schema + `_events SET headers = '["x"]' WHERE id = ?`
	if gone {
		statement = `DELETE FROM ` + d.schema + `_events WHERE id = ?`
	}
	if _, err := d.app.ExecContext(t.Context(), statement, id); err != nil {
		t.Fatal(err)
	}
}

type transaction struct {
	*sql.Tx
	schema string
}

func (d *database) begin(ctx context.Context) (outboxtest.Transaction, error) {
	tx, err := d.app.BeginTx(ctx, &sql.TxOptions{Isolation: d.level})
	return transaction{tx, d.schema}, err
}

func (tx transaction) Write(ctx context.Context, events ...outbox.Event) error {
	return outbox.Write(ctx, outbox.MySQL(tx.Tx).In(tx.schema), events...)
}

func victim(err error) bool {
	refused, ok := errors.AsType[*driver.MySQLError](err)
	return ok && refused.Number == 1213
}

func (tx transaction) Commit(context.Context) error { return tx.Tx.Commit() }

func (tx transaction) Rollback(context.Context) error {
	if err := tx.Tx.Rollback(); !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}

func (d *database) age(t testing.TB, by time.Duration) {
	t.Helper()
	for _, table := range []string{"events", "pending"} {
		if _, err := d.app.ExecContext(t.Context(), `UPDATE `+d.schema+`_`+table+` SET written_at = written_at - ?`, by.Milliseconds()); err != nil {
			t.Fatal(err)
		}
	}
}

func (d *database) command() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{childURL + "=" + d.url, childSchema + "=" + d.schema}
	return cmd
}

func TestStore(t *testing.T) {
	levels := map[string]sql.IsolationLevel{"repeatable read": sql.LevelRepeatableRead}
	if os.Getenv("BEZOAR_SOAK") != "" {
		levels["read committed"] = sql.LevelReadCommitted
	}
	for name, level := range levels {
		t.Run(name, func(t *testing.T) {
			d := newOutbox(t)
			d.level = level
			outboxtest.Run(t, func(t testing.TB) outboxtest.Outbox {
				d.empty(t)
				return d.Outbox
			})
		})
	}
}

// TestKilled is about relays that end in the middle of everything.
func TestKilled(t *testing.T) {
	d := newOutbox(t)
	rounds := 5
	if os.Getenv("BEZOAR_SOAK") != "" {
		rounds = 200
	}
	t.Run("at random", func(t *testing.T) { outboxtest.Kill(t, d.Outbox, rounds, d.command) })
	d.empty(t)
	t.Run("by an event", func(t *testing.T) { outboxtest.Killer(t, d.Outbox, d.command) })
	d.empty(t)
	t.Run("stopped for a while", func(t *testing.T) { outboxtest.Stopped(t, d.Outbox, d.command) })
}

// TestInit is about what is no outbox, and about making one twice.
func TestInit(t *testing.T) {
	d := newOutbox(t)
	id, err := d.Store.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := mysql.Init(t.Context(), mysql.Config{URL: d.url, Schema: d.schema}); err != nil {
		t.Fatalf("again: %v", err)
	}
	if again, err := d.Store.Identity(t.Context()); err != nil || again != id {
		t.Fatalf("it was %v and is %v, %v", id, again, err)
	}
	if _, err := mysql.Open(t.Context(), mysql.Config{URL: d.url, Schema: "nobodys"}); !errors.Is(err, outbox.ErrAbsent) {
		t.Fatalf("another schema: %v", err)
	}
	secret := mysql.Config{URL: strings.Replace(d.url, "bezoar:", "bezoar:wrong", 1)}
	if _, err := mysql.Open(t.Context(), secret); err == nil || strings.Contains(err.Error(), "wrong") {
		t.Fatalf("with another password: %v", err)
	}
	for _, bad := range []mysql.Config{{URL: "postgres://x/y"}, {URL: "mysql://host"}, {URL: "mysql://h/d?timeout=x"}, {URL: d.url, Schema: "a b"}} {
		if err := mysql.Init(t.Context(), bad); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}
