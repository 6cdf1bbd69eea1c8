package cli

import (
	"bytes"
	"crypto/rand"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/outbox/cdc"
	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb"
)

// A reader whose slot is lost begins again when a person says so, and not before. A slot
// of that name that is for something else is dropped.
func TestResetOfASlot(t *testing.T) {
	url := os.Getenv("BEZOAR_TEST_POSTGRES")
	if url == "" {
		t.Skip("BEZOAR_TEST_POSTGRES names no server: scripts/postgres starts one")
	}
	name := "o_" + strings.ToLower(rand.Text())[:12]
	if _, err := outboxdb.Init(t.Context(), url, outboxdb.Config{Schema: name}); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	do := func(statement string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		do("DROP SCHEMA " + name + " CASCADE")
		_ = conn.Close(t.Context())
	}()
	do(cdc.SQL(name))
	breaks := func() {
		t.Helper()
		do("INSERT INTO "+name+".cdc (slot, system, timeline, position, partial, changes, copied, health, reason, health_at) "+
			"VALUES ($1, '7', 1, '0/1', '0/0', 0, '{}', 'broken', 'the slot is gone', now())", name)
	}
	exists := func(what string) (there bool) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM "+what+" WHERE slot"+map[bool]string{true: "_name"}[strings.HasPrefix(what, "pg_")]+" = $1)", name).Scan(&there); err != nil {
			t.Fatal(err)
		}
		return there
	}
	run := func(want int, says string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		code := Main(t.Context(), Process{
			Args: append([]string{"outbox", "slots", "--database", url, "--schema", name}, args...), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
			Getenv: func(string) string { return "" }, Exit: func(int) {},
		})
		if code != want || !strings.Contains(out.String(), says) {
			t.Errorf("%v: code %d, %s; want %d, %s", args, code, out.String(), want, says)
		}
	}
	breaks()
	run(2, "--yes goes with --reset", "--yes")
	run(3, "its readers have "+name, "--reset", "nobody", "--yes")
	run(2, "its reader is broken: the slot is gone", "--reset", name)
	run(2, "\nhint: --yes does it: changes that it has not read become no events; this cannot be undone\n", "--reset", name)
	if !exists(name + ".cdc") {
		t.Fatal("a question has changed something")
	}
	run(0, "slot "+name+" is reset", "--reset", name, "--yes")
	if exists(name + ".cdc") {
		t.Error("the reader still knows how far it was")
	}
	breaks()
	do("SELECT pg_create_physical_replication_slot($1)", name)
	run(0, "slot "+name+" is reset", "--reset", name, "--yes")
	if exists("pg_replication_slots") {
		do("SELECT pg_drop_replication_slot($1)", name)
		t.Error("the slot that was for something else is there")
	}
	run(3, "no reader of it has the slot", "--reset", name, "--yes")
}
