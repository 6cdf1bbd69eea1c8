package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb"
)

// Every command of the guide to outboxes is run, in order.
func TestOutboxGuide(t *testing.T) {
	t.Parallel()
	r := newBuilt(t, "docs/outbox.md")
	r.read(map[string][]string{
		"demo outbox":     {"write, then send      1996      1992         4         0 ", "send, then write      1992      1996         0         4 ", "outbox                1994      1994         0         0             0 "},
		"outbox init --d": {"the outbox bezoar_outbox exists: "},
		"outbox status\n": {"orders      0          0         0       1       1  ", "customer-7", "invalid", `"order": "4711"`},
		"outbox edit":     {"edited, and sent again", "3 events of 1 key: none is missing or out of order", `"order": "4713"`},
		"skip --topic":    {"would skip 0 events"},
	})
	sql, err := os.ReadFile(r.dir + "/outbox.sql")
	if err != nil || !strings.Contains(string(sql), "CREATE SCHEMA IF NOT EXISTS shop_events;") {
		t.Errorf("the printed SQL is %.100q, %v", sql, err)
	}
}

// The guide's SQL for PostgreSQL writes an event.
func TestOutboxGuideSQL(t *testing.T) {
	t.Parallel()
	server := os.Getenv("BEZOAR_TEST_POSTGRES")
	if server == "" {
		t.Skip("BEZOAR_TEST_POSTGRES names no server: scripts/postgres starts one")
	}
	name := fmt.Sprint("guide_outbox_", time.Now().UnixNano())
	do := func(database, statement string) {
		t.Helper()
		conn, err := pgx.Connect(context.Background(), database)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(context.Background(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	do(server, "CREATE DATABASE "+name)
	t.Cleanup(func() { do(server, "DROP DATABASE "+name+" WITH (FORCE)") })
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	if _, err := outboxdb.Init(t.Context(), u.String(), outboxdb.Config{}); err != nil {
		t.Fatal(err)
	}
	do(u.String(), "CREATE TABLE orders (id text PRIMARY KEY, total integer)")
	n := 0
	for _, b := range blocks(t, "../../docs/outbox.md") {
		if b.lang == "sql" {
			do(u.String(), b.text)
			n++
		}
	}
	store, err := outboxdb.Open(t.Context(), u.String(), outboxdb.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if st, err := store.Status(t.Context()); err != nil || n != 1 || len(st.Topics) != 1 || st.Topics[0].Topic != "orders" || st.Topics[0].Ready != 1 {
		t.Errorf("after %d blocks the outbox has %+v, %v", n, st.Topics, err)
	}
}
