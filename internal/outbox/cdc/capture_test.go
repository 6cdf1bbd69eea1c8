package cdc

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// capture runs a capture of tables until the test or end ends.
func (b *base) capture(change func(*CaptureConfig), tables ...Table) (c *Capture, end func()) {
	b.t.Helper()
	config := CaptureConfig{Config: b.config(), Schema: "box", Tables: tables, Linger: time.Millisecond, Retry: 20 * time.Millisecond}
	if change != nil {
		change(&config)
	}
	c, err := NewCapture(config)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	end = sync.OnceFunc(func() {
		cancel()
		if <-ended == nil {
			b.t.Error("Run ends without an error")
		}
	})
	b.t.Cleanup(end)
	return c, end
}

func (c *Capture) await(t testing.TB, h Health) {
	t.Helper()
	eventually(t, "the capture is "+string(h), func() bool {
		return c.Status().Health == h
	})
}

// large is what PostgreSQL stores apart from its row.
var large = strings.Repeat("b", 3000)

// events are those of the outbox, by key: topic, type, key and the rows in the payload.
func (b *base) events() (out []string) {
	b.t.Helper()
	rows, err := b.conn.Query(context.Background(), "SELECT topic, type, key, convert_from(payload, 'UTF8') FROM box.events ORDER BY key, position")
	if err != nil {
		b.t.Fatal(err)
	}
	out, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (string, error) {
		var topic, kind, key, payload string
		err := r.Scan(&topic, &kind, &key, &payload)
		_, payload, _ = strings.Cut(payload, `"before":`)
		payload, _, _ = strings.Cut(payload, `,"lsn"`)
		payload = strings.ReplaceAll(payload, large, "LARGE")
		return fmt.Sprintf("%s %s %s %s", topic, kind, key, payload), err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func (b *base) awaitEvents(n int) {
	b.t.Helper()
	eventually(b.t, fmt.Sprintf("%d events", n), func() bool { return one[int](b, "SELECT count(*) FROM box.events") >= n })
}

func same(t testing.TB, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestChangesOfATableBecomeEvents(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	b.exec(`CREATE TABLE orders (id int PRIMARY KEY, state text, total numeric, paid bool, doc jsonb, big text, at timestamptz, raw bytea, n float8, secret text,
		twice int GENERATED ALWAYS AS (id * 2) STORED);
		ALTER TABLE orders ALTER big SET STORAGE EXTERNAL;
		INSERT INTO orders VALUES (1, 'old', 1.50)`)
	c, _ := b.capture(nil, Table{Name: "orders", Topic: "shop.{table}", Omit: []string{"secret"}, Copy: true})
	c.await(t, Reading)
	b.exec(`INSERT INTO orders VALUES (2, 'a"<', 12.30, true, '{"x": [1]}', repeat('b', 3000), '2026-01-02 03:04:05.6+02', '\x00ff', 'NaN', 's')`)
	b.exec(`UPDATE orders SET state = 'paid', n = 1e300 WHERE id = 2`)
	b.exec(`UPDATE orders SET id = 3 WHERE id = 2`)
	b.exec(`DELETE FROM orders WHERE id = 3`)
	b.exec(`ALTER TABLE orders DROP COLUMN total, DROP COLUMN big, DROP COLUMN raw, DROP COLUMN at, ADD COLUMN note text DEFAULT 'n'`)
	b.exec(`UPDATE orders SET state = 'x' WHERE id = 1`)
	b.awaitEvents(7)
	same(t, b.events(),
		`shop.orders orders.snapshot 1 null,"after":{"id":1,"state":"old","total":"1.50","paid":null,"doc":null,"big":null,"at":null,"raw":null,"n":null}`,
		`shop.orders orders.update 1 null,"after":{"id":1,"state":"x","paid":null,"doc":null,"n":null,"note":"n"}`,
		`shop.orders orders.insert 2 null,"after":{"id":2,"state":"a\"<","total":"12.30","paid":true,"doc":{"x": [1]},"big":"LARGE","at":"2026-01-02 01:04:05.6+00","raw":"\\x00ff","n":"NaN"}`,
		`shop.orders orders.update 2 null,"after":{"id":2,"state":"paid","total":"12.30","paid":true,"doc":{"x": [1]},"at":"2026-01-02 01:04:05.6+00","raw":"\\x00ff","n":1e+300},"unchanged":["big"]`,
		`shop.orders orders.delete 2 {"id":2},"after":null`,
		`shop.orders orders.insert 3 null,"after":{"id":3,"state":"paid","total":"12.30","paid":true,"doc":{"x": [1]},"at":"2026-01-02 01:04:05.6+00","raw":"\\x00ff","n":1e+300},"unchanged":["big"]`,
		`shop.orders orders.delete 3 {"id":3},"after":null`)
}

func TestFullReplicaIdentityHasTheOldRow(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	b.exec(`CREATE TABLE notes (who text, what text); ALTER TABLE notes REPLICA IDENTITY FULL; ALTER TABLE notes ALTER what SET STORAGE EXTERNAL`)
	c, _ := b.capture(nil, Table{Name: "public.notes", Key: "{row.who}", Type: "{op}"})
	c.await(t, Reading)
	b.exec(`INSERT INTO notes VALUES ('ann', $1)`, large)
	b.exec(`UPDATE notes SET who = who`)
	b.exec(`DELETE FROM notes`)
	b.awaitEvents(3)
	const row = `{"who":"ann","what":"LARGE"}`
	same(t, b.events(),
		`public.notes insert ann null,"after":`+row,
		`public.notes update ann `+row+`,"after":`+row,
		`public.notes delete ann `+row+`,"after":null`)
}

// Interrupted again and again, also within transactions, no change is lost or told
// twice.
func TestAnInterruptedCaptureTellsEachChangeOnce(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	b.exec(`CREATE TABLE items (id int PRIMARY KEY, n int)`)
	few := func(c *CaptureConfig) { c.Rows = 7 }
	tables := Table{Name: "items"}
	c, end := b.capture(few, tables)
	c.await(t, Reading)
	done := make(chan struct{})
	writer := dial(t, b.server.URL(b.name))
	const transactions, rows = 30, 50
	go func() {
		defer close(done)
		for i := range transactions {
			exec(t, writer, `INSERT INTO items SELECT g, $1 FROM generate_series($1 * $2::int, $1 * $2::int + $2::int - 1) g`, i, rows)
		}
	}()
	for i := 0; ; i++ {
		at := one[int](b, "SELECT count(*) FROM box.events")
		if at == transactions*rows {
			break
		}
		if i%2 == 0 {
			end()
			c, end = b.capture(few, tables)
		} else {
			b.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'bezoar cdc%'")
		}
		more := min(at+150, transactions*rows)
		eventually(t, "some more", func() bool { return one[int](b, "SELECT count(*) FROM box.events") >= more })
	}
	<-done
	if n := one[int](b, "SELECT count(DISTINCT key) FROM box.events"); n != transactions*rows {
		t.Fatalf("%d of %d changes", n, transactions*rows)
	}
	c.await(t, Reading)
	end()
	if n := one[int](b, "SELECT count(*) FROM box.events"); n != transactions*rows {
		t.Fatalf("%d events of %d changes", n, transactions*rows)
	}
}

func TestACaptureThatLostItsSlotStops(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	b.exec(`CREATE TABLE items (id int PRIMARY KEY)`)
	c, end := b.capture(nil, Table{Name: "items", Copy: true})
	c.await(t, Reading)
	b.exec(`INSERT INTO items VALUES (1)`)
	b.awaitEvents(1)
	end()
	b.dropSlot()
	b.exec(`INSERT INTO items VALUES (2)`)
	b.exec("SELECT pg_create_logical_replication_slot($1, 'pgoutput')", b.name)
	c, end = b.capture(nil, Table{Name: "items", Copy: true})
	c.await(t, Broken)
	if s := c.Status(); !strings.Contains(s.Reason, "recreated or moved: changes committed between 0/") ||
		!strings.HasSuffix(s.Reason, ": bezoar outbox slots --reset "+b.name) {
		t.Fatalf("status %s", s)
	}
	b.exec(`INSERT INTO items VALUES (3)`)
	if err := c.reader.c.Reset(context.Background(), "box"); err != nil { // a person decides
		t.Fatal(err)
	}
	c.await(t, Reading)
	b.awaitEvents(5)
	same(t, b.events(),
		`public.items items.insert 1 null,"after":{"id":1}`,
		`public.items items.snapshot 1 null,"after":{"id":1}`,
		`public.items items.snapshot 2 null,"after":{"id":2}`,
		`public.items items.snapshot 3 null,"after":{"id":3}`,
		`public.items items.insert 3 null,"after":{"id":3}`)
	end()
	b.dropSlot()
	b.exec(`DELETE FROM items WHERE id < 3`)
	c, _ = b.capture(func(c *CaptureConfig) { c.CopyOnLoss = true }, Table{Name: "items", Copy: true})
	c.await(t, Reading)
	b.awaitEvents(6)
	if s := c.Status(); !strings.Contains(s.Reason, "the slot is gone") {
		t.Fatalf("status %s", s)
	}
}

func TestACaptureRefusesATableThatItWouldFreeze(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	b.exec(`CREATE TABLE loose (id int)`)
	c, _ := b.capture(nil, Table{Name: "loose"})
	c.await(t, Broken)
	if s := c.Status(); !strings.Contains(s.Reason, "REPLICA IDENTITY FULL") {
		t.Fatalf("status %s", s)
	}
	b.exec(`INSERT INTO loose VALUES (1); UPDATE loose SET id = 2`) // as before
	b.exec(`ALTER TABLE loose ADD PRIMARY KEY (id)`)
	c.await(t, Reading)
}

func TestTheKeyIsToldOfDeletedRowsToo(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	b.exec(`CREATE TABLE items (id int PRIMARY KEY, code text NOT NULL UNIQUE, n int)`)
	c, _ := b.capture(nil, Table{Name: "items", Key: "{row.code}"})
	c.await(t, Broken)
	if s := c.Status(); !strings.Contains(s.Reason, "uses the column code, which PostgreSQL does not report for deleted rows") {
		t.Fatalf("status %s", s)
	}
	b.exec(`ALTER TABLE items REPLICA IDENTITY USING INDEX items_code_key`)
	c.await(t, Reading)
	b.exec(`INSERT INTO items VALUES (1, 'a'); UPDATE items SET id = 2; UPDATE items SET code = 'b'; DELETE FROM items`)
	b.awaitEvents(5)
	same(t, b.events(),
		`public.items items.insert a null,"after":{"id":1,"code":"a","n":null}`,
		`public.items items.update a null,"after":{"id":2,"code":"a","n":null}`,
		`public.items items.delete a {"code":"a"},"after":null`,
		`public.items items.insert b null,"after":{"id":2,"code":"b","n":null}`,
		`public.items items.delete b {"code":"b"},"after":null`)
}

func TestTwoCapturesTakeTurns(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	b.exec(`CREATE TABLE items (id int PRIMARY KEY)`)
	first, end := b.capture(nil, Table{Name: "items"})
	first.await(t, Reading)
	second, _ := b.capture(nil, Table{Name: "items"})
	second.await(t, Waiting)
	b.exec(`INSERT INTO items VALUES (1)`)
	b.awaitEvents(1)
	end()
	second.await(t, Reading)
	b.exec(`INSERT INTO items VALUES (2)`)
	b.awaitEvents(2)
}

func TestATableThatIsAddedIsCopied(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	b.exec(`CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int, part int, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
		CREATE TABLE b_1 PARTITION OF b FOR VALUES IN (1); INSERT INTO b VALUES (1, 1)`)
	c, end := b.capture(nil, Table{Name: "a"})
	c.await(t, Reading)
	end()
	c, _ = b.capture(nil, Table{Name: "a"}, Table{Name: "b", Copy: true})
	c.await(t, Reading)
	b.exec(`INSERT INTO b VALUES (2, 1)`)
	b.awaitEvents(2)
	same(t, b.events(), `public.b b.snapshot 1:1 null,"after":{"id":1,"part":1}`, `public.b b.insert 2:1 null,"after":{"id":2,"part":1}`)
}

func TestACaptureWaitsForRoom(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	b.exec(`CREATE TABLE items (id int PRIMARY KEY); INSERT INTO items SELECT generate_series(1, 50)`)
	c, _ := b.capture(func(c *CaptureConfig) { c.Rows, c.Waiting = 10, 30 }, Table{Name: "items", Copy: true})
	c.await(t, Full)
	if n := one[int](b, "SELECT count(*) FROM box.events"); n != 30 {
		t.Fatalf("%d events", n)
	}
	b.exec(`DELETE FROM box.pending`) // delivered
	b.awaitEvents(50)
	c.await(t, Reading)
}

// What a capture writes and what producers write has the same form: positions and
// sequences of a key have one order, without holes.
func TestEventsOfACaptureAreLikeOthers(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	b.exec(`CREATE TABLE items (id int PRIMARY KEY, who text, n int); ALTER TABLE items REPLICA IDENTITY FULL`)
	b.exec(`SELECT box.write('public.items', 'a')`)
	c, _ := b.capture(nil, Table{Name: "items", Key: "{row.who}"})
	c.await(t, Reading)
	b.exec(`INSERT INTO items SELECT g, CASE g % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'b' END, g FROM generate_series(1, 300) g`)
	b.awaitEvents(301)
	b.exec(`SELECT box.write('public.items', 'a')`)
	same(t, one[[]string](b, `SELECT array_agg(format('%s %s %s %s', key, n, first, last) ORDER BY key) FROM (
		SELECT key, count(*) n, min(seq) first, max(seq) last FROM box.events GROUP BY key) k`), " 100 0 0", "a 102 1 102", "b 100 1 100")
	if n := one[int](b, `SELECT count(*) FROM (SELECT seq - lag(seq) OVER (PARTITION BY key ORDER BY position) d FROM box.events WHERE key <> '') s WHERE d <> 1`); n != 0 {
		t.Fatalf("%d events are out of order", n)
	}
	if n := one[int](b, `SELECT count(*) FROM (SELECT (convert_from(payload, 'UTF8')::json->'after'->>'n')::int n,
		lag((convert_from(payload, 'UTF8')::json->'after'->>'n')::int) OVER (PARTITION BY key ORDER BY position) before
		FROM box.events WHERE payload <> '') s WHERE n < before`); n != 0 {
		t.Fatalf("%d changes are out of order", n)
	}
	if n := one[int](b, `SELECT count(*) FROM box.pending p JOIN box.events e USING (position, written_at) LEFT JOIN box.keys k ON k.topic = e.topic AND k.key = e.key
		WHERE p.lane IS NOT DISTINCT FROM k.lane AND p.topic = e.topic AND p.bytes = octet_length(e.payload) + octet_length(e.key) + octet_length(e.headers::text)`); n != 302 {
		t.Fatalf("%d of 302 events wait as they should", n)
	}
}

func TestDropLeavesNothing(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	b.exec(`CREATE TABLE items (id int PRIMARY KEY)`)
	left := func() int {
		return one[int](b, `SELECT (SELECT count(*) FROM pg_replication_slots WHERE slot_name = $1) + (SELECT count(*) FROM pg_publication)`, b.name)
	}
	drop := func() error { return b.config().Drop(context.Background(), "box") }
	if err := drop(); err != nil { // nothing is there
		t.Fatal(err)
	}
	c, end := b.capture(nil, Table{Name: "items"})
	c.await(t, Reading)
	if err := drop(); err == nil || !strings.Contains(err.Error(), "is active") {
		t.Fatalf("error %v", err)
	}
	end()
	eventually(t, "the slot is dropped", func() bool { return drop() == nil })
	if n := left(); n != 0 || one[int](b, "SELECT count(*) FROM box.cdc") != 0 {
		t.Fatalf("%d are left", n)
	}
	c, _ = b.capture(nil, Table{Name: "items"}) // as if it had never been
	c.await(t, Reading)
}
