package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/store/postgres"
)

// ownDatabase makes a database in which nobody else has transactions.
func ownDatabase(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(server(t))
	if err != nil {
		t.Fatal(err)
	}
	name := newSchema(t)
	run(t, "CREATE DATABASE "+name)
	t.Cleanup(func() { run(t, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") })
	u.Path = "/" + name
	return u.String()
}

func connect(t *testing.T, at string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func say(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// Of a transaction that holds back vacuum operators learn who it is; of any other, and
// of those in other databases, they do not.
func TestLongTransactionsAreTold(t *testing.T) {
	t.Parallel()
	at := ownDatabase(t)
	db := open(t, postgres.Config{URL: at})
	conn, elsewhere := connect(t, with(t, at, "application_name", "report")), connect(t, server(t))
	say(t, elsewhere, "BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT 1")
	for _, c := range []struct {
		statements []string
		told       bool
	}{
		{nil, false},
		{[]string{"BEGIN", "SELECT 1"}, false}, // it has nothing that vacuum would have to keep
		{[]string{"BEGIN", "SELECT pg_current_xact_id()"}, true},
		{[]string{"BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT 1"}, true},
	} {
		say(t, conn, c.statements...)
		err := db.Held(t.Context(), 0)
		if (err != nil) != c.told {
			t.Errorf("after %q: %v", c.statements, err)
		}
		pid := conn.PgConn().PID()
		for _, part := range []string{fmt.Sprintf("pid %d has", pid), `"report"`, "idle in transaction", fmt.Sprintf("pg_terminate_backend(%d)", pid)} {
			if c.told && err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("%q is not in: %v", part, err)
			}
		}
		if err := db.Held(t.Context(), time.Hour); err != nil {
			t.Errorf("after %q, within an hour: %v", c.statements, err)
		}
		say(t, conn, "ROLLBACK")
	}
}

func TestBloatIsTold(t *testing.T) {
	t.Parallel()
	at := ownDatabase(t)
	db := open(t, postgres.Config{URL: at})
	if err := db.Bloated(t.Context(), 0); err != nil {
		t.Errorf("of tables without rows: %v", err)
	}
	conn := connect(t, at)
	say(t, conn, `ALTER TABLE bezoar.queue_leftovers SET (autovacuum_enabled = false)`,
		`INSERT INTO bezoar.queue_leftovers (bucket, since) SELECT n, 0 FROM generate_series(1, 3000) n`, `DELETE FROM bezoar.queue_leftovers WHERE bucket > 100`)
	if err := conn.Close(t.Context()); err != nil { // then at the latest the server counts
		t.Fatal(err)
	}
	deadline, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		err := db.Bloated(deadline, 1000)
		if err != nil {
			if !strings.Contains(err.Error(), "queue_leftovers has 2900 dead rows and 100 live ones, never vacuumed") || !strings.Contains(err.Error(), "VACUUM bezoar.queue_leftovers") {
				t.Error(err)
			}
			break
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-deadline.Done():
			t.Fatal("nothing was told")
		}
	}
	if err := db.Bloated(t.Context(), 10_000); err != nil {
		t.Errorf("of few dead rows: %v", err)
	}
	say(t, connect(t, at), `INSERT INTO bezoar.queue_leftovers (bucket, since) SELECT n, 0 FROM generate_series(10001, 20000) n`, `VACUUM bezoar.queue_leftovers`)
	if err := db.Bloated(t.Context(), 1000); err != nil {
		t.Errorf("after a vacuum: %v", err)
	}
}
