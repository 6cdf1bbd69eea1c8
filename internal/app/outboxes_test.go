package app_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/outbox"
	"github.com/bezoar-dev/bezoar/queue"
)

// shopDatabase is a database of an application, with no outbox yet.
func shopDatabase(t *testing.T) (url string, write func(events ...outbox.Event)) {
	t.Helper()
	server := os.Getenv("BEZOAR_TEST_POSTGRES")
	if server == "" {
		t.Skip("BEZOAR_TEST_POSTGRES names no server: scripts/postgres starts one")
	}
	url = newDatabase(t, server)
	return url, func(events ...outbox.Event) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := outbox.Write(t.Context(), outbox.Pgx(tx), events...); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

const outboxSettings = `queues: {orders: {}, later: {}}
outbox:
  shop: {database: %q, park_after: 1, sinks: [{topics: [%s], to: "queue:%s"}]}
`

func (n *node) visible(name string) int64 {
	n.t.Helper()
	q, err := n.admin.Queue(n.t.Context(), name)
	if err != nil {
		n.t.Fatal(err)
	}
	return q.Visible
}

func (n *node) outbox() adminapi.Outbox {
	n.t.Helper()
	all, err := n.admin.Outboxes(n.t.Context())
	if err != nil || len(all) != 1 {
		n.t.Fatalf("the outboxes are %+v, %v", all, err)
	}
	return all[0]
}

// The process delivers what an application's database commits, waits for a database
// that is not ready, shows parked events as dead letters, and takes other settings.
func TestOutboxesAreDelivered(t *testing.T) {
	url, write := shopDatabase(t)
	dir := t.TempDir()
	settings := func(topics, to string) string {
		return head(sqliteIn(dir), dir) + fmt.Sprintf(outboxSettings, url, topics, to)
	}
	n := serve(t, settings("orders.*", "orders"))
	n.until("the outbox is missed", func() bool { return strings.Contains(n.outbox().Error, "bezoar outbox init") })
	if page, err := n.admin.Dead(t.Context(), queue.Selection{}, "", 10); err != nil || len(page.Unread) != 1 || !strings.Contains(page.Unread[0], "outbox:shop: ") {
		t.Errorf("the list of letters says %+v, %v", page, err)
	}
	if _, err := outboxdb.Init(t.Context(), url, outboxdb.Config{}); err != nil {
		t.Fatal(err)
	}
	large := make([]byte, 2<<20)
	write(outbox.Event{Topic: "orders.paid", Key: "a", Payload: []byte("1")}, outbox.Event{Topic: "orders.paid", Key: "b", Payload: large},
		outbox.Event{Topic: "orders.paid", Key: "b", Payload: []byte("3")}, outbox.Event{Topic: "other", Payload: []byte("4")})
	n.until("what can be delivered is", func() bool { return n.visible("orders") == 1 })

	// A parked event is a dead letter. Edited, it is delivered.
	var letters []triage.Letter
	n.until("the event is a letter", func() bool {
		page, err := n.admin.Dead(t.Context(), queue.Selection{Queue: "outbox:shop"}, "", 10)
		letters = page.Letters
		return err == nil && len(letters) == 1
	})
	whole, err := n.admin.DeadLetter(t.Context(), letters[0].ID)
	if err != nil || whole.Class.String() != "invalid" || whole.Attributes["Topic"].Value != "orders.paid" {
		t.Errorf("the letter is %+v, %v", whole.Class, err)
	}
	o := n.outbox()
	if !o.Relay.Here || !o.Relay.Alive || len(o.Alarms) == 0 {
		t.Errorf("the outbox is %+v", o)
	}
	if _, err := n.admin.Edit(t.Context(), whole.ID, triage.Edit{Version: whole.Version, Body: triage.NewBody([]byte("2")), Reason: "too large"}); err != nil {
		t.Fatal(err)
	}
	n.until("the mended event is delivered", func() bool { return n.visible("orders") == 3 })
	did, err := n.admin.Audit(t.Context(), 0, 10)
	if err != nil || len(did) == 0 || did[0].Action != "letter.edit" {
		t.Errorf("audit log %+v, %v", did, err)
	}

	n.until("the metrics say so", func() bool { // deliveries are counted when they are settled
		f := n.scrape()
		return value(f["bezoar_outbox_delivered_total"], "outbox", "shop") == 3 && value(f["bezoar_outbox_parked_total"], "outbox", "shop") == 1 &&
			value(f["bezoar_outbox_owned"], "outbox", "shop") == 1 && value(f["bezoar_outbox_leader"], "outbox", "shop") == 1 &&
			value(f["bezoar_outbox_events"], "topic", "other", "state", "ready") == 1
	})

	cfg, err := config.Parse("test.yaml", []byte(settings(`"*"`, "later")))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.app.Reload(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	n.until("the event that no sink wanted is delivered", func() bool { return n.visible("later") == 1 })
}

// What is wrong with an outbox is said before anything runs.
func TestOutboxesThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	for settings, want := range map[string]string{
		"outbox: {shop: {database_env: BEZOAR_TEST_NO_SUCH, sinks: [{topics: [a], to: 'queue:orders'}]}}":                                            "outbox.shop.database_env: the environment has no BEZOAR_TEST_NO_SUCH",
		"outbox: {shop: {database: 'postgres://u:hunter2@db/x', sinks: [{topics: [a], to: 'https://example.com/#secret_env=BEZOAR_TEST_NO_SUCH'}]}}": "outbox.shop.sinks[0].to: ",
	} {
		cfg, err := config.Parse("test.yaml", []byte(head(sqliteIn(dir), dir)+"queues: {orders: {}}\n"+settings))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := app.New(t.Context(), cfg, app.Options{}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("New = %v, want %q", err, want)
		}
	}
}

// That changes are not captured is an alarm, also while there is no slot yet.
func TestTablesThatAreNotThere(t *testing.T) {
	url, _ := shopDatabase(t)
	if _, err := outboxdb.Init(t.Context(), url, outboxdb.Config{}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	n := serve(t, head(sqliteIn(dir), dir)+fmt.Sprintf(`queues: {customers: {}}
outbox:
  shop: {database: %q, relay: cdc, tables: [{table: customers}], sinks: [{topics: ["*"], to: "queue:customers"}]}
`, url))
	n.until("the table is missed", func() bool {
		return slices.ContainsFunc(n.outbox().Alarms, func(a adminapi.OutboxAlarm) bool { return strings.Contains(a.What, "there is no table") })
	})
}

// Changes of a table become events, and the relay follows the log of the database.
func TestTablesBecomeEvents(t *testing.T) {
	url, _ := shopDatabase(t)
	do := func(statement string) (out string) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		rows, err := conn.Query(t.Context(), statement)
		if err != nil {
			t.Fatal(err)
		}
		all, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(all, " ")
	}
	if level := do("SHOW wal_level"); level != "logical" {
		t.Fatalf("wal_level is %s: scripts/postgres sets it to logical", level)
	}
	do("CREATE TABLE customers (id integer PRIMARY KEY, name text, password text)")
	do("INSERT INTO customers VALUES (1, 'ann', 'hunter2')")
	if _, err := outboxdb.Init(t.Context(), url, outboxdb.Config{}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	n := serve(t, head(sqliteIn(dir), dir)+fmt.Sprintf(`queues: {customers: {}}
outbox:
  shop:
    database: %q
    relay: cdc
    tables: [{table: customers, topic: "customers.{op}", key: "{row.id}", omit: [password], copy: true}]
    sinks: [{topics: ["customers.*"], to: "queue:customers"}]
`, url))
	n.until("the row that was there is an event", func() bool { return n.visible("customers") == 1 })
	do("INSERT INTO customers VALUES (2, 'bert', 'hunter2')")
	do("UPDATE customers SET name = 'anna' WHERE id = 1")
	n.until("the changes are events", func() bool { return n.visible("customers") == 3 })
	messages, err := n.admin.Peek(t.Context(), "customers", 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		if strings.Contains(string(m.Body), "hunter2") {
			t.Errorf("an event has a column that was to be left out: %s", m.Body)
		}
	}
	n.until("the slots are seen", func() bool {
		return slices.ContainsFunc(n.outbox().Slots, func(s adminapi.OutboxSlot) bool { return strings.HasSuffix(s.Name, "_feed") && s.State == "ok" })
	})
	n.stop()
	do("SELECT pg_drop_replication_slot(slot_name)::text FROM pg_replication_slots WHERE database = current_database() AND NOT active")
}

// Two names of one outbox are two relays: the second waits, and takes nothing from
// the first.
func TestOneOutboxByTwoNames(t *testing.T) {
	dir := t.TempDir()
	url := "sqlite:" + dir + "/shop.db"
	if _, err := outboxdb.Init(t.Context(), url, outboxdb.Config{}); err != nil {
		t.Fatal(err)
	}
	n := serve(t, head(sqliteIn(dir), dir)+fmt.Sprintf(`queues: {orders: {}}
outbox:
  one: {database: %q, sinks: [{topics: [a], to: "queue:orders"}]}
  two: {database: "sqlite:%s/./shop.db", sinks: [{topics: [b], to: "queue:orders"}]}
`, url, dir))
	var all []adminapi.Outbox
	n.until("both have looked", func() (ok bool) {
		var err error
		if all, err = n.admin.Outboxes(t.Context()); err != nil {
			t.Fatal(err)
		}
		return len(all) == 2 && all[0].Relay.Alive && all[1].Relay.Alive
	})
	for range 20 { // each asks the database
		if all, _ = n.admin.Outboxes(t.Context()); all[0].Relay.Epoch != 1 || all[0].Relay.Here == all[1].Relay.Here {
			t.Fatalf("the relays are %+v and %+v", all[0].Relay, all[1].Relay)
		}
	}
}

// A database whose file was replaced is opened again: the old file is not what the
// application writes to.
func TestReplacedFile(t *testing.T) {
	dir := t.TempDir()
	path := dir + "/shop.db"
	order := func() {
		t.Helper()
		if _, err := outboxdb.Init(t.Context(), "sqlite:"+path, outboxdb.Config{}); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := outbox.Write(t.Context(), outbox.SQLite(tx), outbox.Event{Topic: "a", Payload: []byte("1")}); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	order()
	n := serve(t, head(sqliteIn(dir), dir)+fmt.Sprintf(`queues: {orders: {}}
outbox: {shop: {database: %q, sinks: [{topics: [a], to: "queue:orders"}]}}
`, "sqlite:"+path))
	n.until("the event is delivered", func() bool { return n.visible("orders") == 1 })
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(path+end, path+".old"+end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	order()
	n.until("the event of the new file is delivered", func() bool { return n.visible("orders") == 2 })
}
