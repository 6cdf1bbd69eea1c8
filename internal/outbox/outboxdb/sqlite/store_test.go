package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/sqlite"
	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/tables"
	"github.com/bezoar-dev/bezoar/outbox"
	"github.com/bezoar-dev/bezoar/outbox/outboxtest"
)

const childPath = "BEZOAR_TEST_OUTBOX_PATH"

func TestMain(m *testing.M) {
	child, is, err := outboxtest.ChildOf()
	if !is && err == nil {
		os.Exit(m.Run())
	}
	if err == nil {
		var s *tables.Store
		if s, err = sqlite.Open(context.Background(), sqlite.Config{URL: "sqlite:" + os.Getenv(childPath)}); err == nil {
			err = child.Relay(s)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

type database struct {
	outboxtest.Outbox
	path string
	app  *sql.DB
}

func newOutbox(t testing.TB) *database {
	t.Helper()
	d := &database{path: filepath.Join(t.TempDir(), "app data.db")}
	if err := sqlite.Init(t.Context(), sqlite.Config{URL: "sqlite:" + d.path}); err != nil {
		t.Fatal(err)
	}
	app, err := sql.Open("sqlite", "file:"+filepath.ToSlash(d.path)+"?_busy_timeout=30000&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	d.app = app
	t.Cleanup(func() { _ = app.Close() })
	d.Outbox = outboxtest.Outbox{Store: d.open(t), Reopen: func(t testing.TB) outbox.Store { return d.open(t) }, Begin: d.begin, Serial: true, Age: d.age, Spoil: d.spoil}
	return d
}

func (d *database) open(t testing.TB) *tables.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{URL: "sqlite:" + d.path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (d *database) spoil(t testing.TB, id string, gone bool) {
	t.Helper()
	statement := `PRAGMA ignore_check_constraints = on; UPDATE bezoar_outbox_events SET headers = '["x"]' WHERE id = ?; PRAGMA ignore_check_constraints = off`
	if gone {
		statement = `DELETE FROM bezoar_outbox_events WHERE id = ?`
	}
	if _, err := d.app.ExecContext(t.Context(), statement, id); err != nil {
		t.Fatal(err)
	}
}

type transaction struct{ *sql.Tx }

func (d *database) begin(ctx context.Context) (outboxtest.Transaction, error) {
	tx, err := d.app.BeginTx(ctx, nil)
	return transaction{tx}, err
}

func (tx transaction) Write(ctx context.Context, events ...outbox.Event) error {
	return outbox.Write(ctx, outbox.SQLite(tx.Tx), events...)
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
		if _, err := d.app.ExecContext(t.Context(), `UPDATE bezoar_outbox_`+table+` SET written_at = written_at - ?`, by.Milliseconds()); err != nil {
			t.Fatal(err)
		}
	}
}

func (d *database) command() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{childPath + "=" + d.path}
	return cmd
}

func TestStore(t *testing.T) {
	outboxtest.Run(t, func(t testing.TB) outboxtest.Outbox { return newOutbox(t).Outbox })
}

// TestKilled is about relays that end in the middle of everything.
func TestKilled(t *testing.T) {
	rounds := 10
	if os.Getenv("BEZOAR_SOAK") != "" {
		rounds = 200
	}
	t.Run("at random", func(t *testing.T) {
		d := newOutbox(t)
		outboxtest.Kill(t, d.Outbox, rounds, d.command)
	})
	t.Run("by an event", func(t *testing.T) {
		d := newOutbox(t)
		outboxtest.Killer(t, d.Outbox, d.command)
	})
	t.Run("stopped for a while", func(t *testing.T) {
		d := newOutbox(t)
		outboxtest.Stopped(t, d.Outbox, d.command)
	})
}

// TestInit is about databases that are there, are no outbox, or have one.
func TestInit(t *testing.T) {
	dir := t.TempDir()
	c := sqlite.Config{URL: "sqlite:" + filepath.Join(dir, "a.db")}
	if _, err := sqlite.Open(t.Context(), c); !errors.Is(err, outbox.ErrAbsent) {
		t.Fatalf("without a file: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.db")); err == nil {
		t.Fatal("looking for the outbox has made a file")
	}
	if err := sqlite.Init(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlite.Init(t.Context(), c); err != nil {
		t.Fatalf("again: %v", err)
	}
	if again, err := s.Identity(t.Context()); err != nil || again != id {
		t.Fatalf("it was %v and is %v, %v", id, again, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), sqlite.Config{URL: c.URL, Schema: "other"}); !errors.Is(err, outbox.ErrAbsent) {
		t.Fatalf("another schema: %v", err)
	}
	for _, bad := range []sqlite.Config{{URL: "postgres://x"}, {URL: "sqlite:"}, {URL: c.URL, Schema: "a b"}} {
		if err := sqlite.Init(t.Context(), bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
