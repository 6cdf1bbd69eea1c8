package cdc

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/postgres"
	"github.com/bezoar-dev/bezoar/internal/test/pgtest"
)

var shared struct {
	once   sync.Once
	server *pgtest.Server
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.server != nil {
		shared.server.Remove()
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// server is one that the tests of this package share.
func server(t testing.TB) *pgtest.Server {
	t.Helper()
	shared.once.Do(func() {
		shared.server = pgtest.Start(t)
	})
	if shared.server == nil {
		t.Skip("no PostgreSQL, as an earlier test has said")
	}
	return shared.server
}

// base is a database with an outbox in the schema box.
type base struct {
	t      testing.TB
	server *pgtest.Server
	name   string
	conn   *pgx.Conn
}

func database(t testing.TB, s *pgtest.Server) *base {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "_", "-", "_").Replace(t.Name()))
	name = fmt.Sprintf("%.40s_%d", strings.TrimPrefix(name, "test"), rand.IntN(1e6))
	admin := dial(t, s.URL("postgres"))
	exec(t, admin, "CREATE DATABASE "+name)
	b := &base{t: t, server: s, name: name, conn: dial(t, s.URL(name))}
	t.Cleanup(func() { // after the readers: a slot that nobody reads keeps WAL
		_, _ = b.conn.Exec(context.Background(), `SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots
			WHERE database = current_database() AND NOT active`)
	})
	sql, err := postgres.SQL("box")
	if err != nil {
		t.Fatal(err)
	}
	b.exec(sql)
	return b
}

func (b *base) config() Config {
	return Config{URL: b.server.URL(b.name) + "&options=-c%20wal_sender_timeout%3D2s", Slot: b.name, Publication: b.name, Heartbeat: 200 * time.Millisecond}
}

func (b *base) exec(sql string, args ...any) {
	b.t.Helper()
	exec(b.t, b.conn, sql, args...)
}

func one[T any](b *base, sql string, args ...any) (v T) {
	b.t.Helper()
	if err := b.conn.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func dial(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeConn(c) })
	return c
}

func exec(t testing.TB, c *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := c.Exec(context.Background(), sql, args...); err != nil {
		t.Fatalf("%.200s: %v", sql, err)
	}
}

// dropSlot drops the slot when its reader has left it.
func (b *base) dropSlot() {
	b.t.Helper()
	eventually(b.t, "nobody reads the slot", func() bool {
		return one[bool](b, "SELECT active_pid IS NULL FROM pg_replication_slots WHERE slot_name = $1", b.name)
	})
	b.exec("SELECT pg_drop_replication_slot($1)", b.name)
}

// eventually waits until what holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	end := time.Now().Add(2 * time.Minute)
	for tick := time.NewTicker(5 * time.Millisecond); !holds(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("in two minutes not: %s", what)
		}
	}
}
