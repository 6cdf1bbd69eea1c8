package cdc

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/postgres"
)

// A table that is dropped under load stops the capture, with a reason that names it. One
// of its name that is made later is read, and copied if it is to be; the other table
// misses nothing.
func TestATableThatIsDroppedAndMadeAgain(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	const items = `CREATE TABLE items (id int PRIMARY KEY); CREATE TABLE plain (id int PRIMARY KEY)`
	b.exec(items + `; CREATE TABLE others (id int PRIMARY KEY)`)
	c, _ := b.capture(nil, Table{Name: "items", Copy: true}, Table{Name: "plain"}, Table{Name: "others"})
	c.await(t, Reading)

	ctx, cancel := context.WithCancel(context.Background())
	written := 0
	var writer sync.WaitGroup
	conn := dial(t, b.server.URL(b.name))
	writer.Go(func() {
		for ; ctx.Err() == nil; written++ {
			exec(t, conn, "INSERT INTO others VALUES ($1)", written)
			// Others may have the table's name now, or nothing has.
			_, _ = conn.Exec(ctx, "INSERT INTO items VALUES ($1)", written)
		}
	})
	stop := sync.OnceFunc(func() { cancel(); writer.Wait() })
	t.Cleanup(stop)
	of := func(table string) int {
		return one[int](b, "SELECT count(*) FROM box.events WHERE topic = 'public.'||$1 AND key <> ''", table)
	}
	eventually(t, "events of both", func() bool { return of("items") > 50 && of("others") > 50 })
	b.exec(`DROP TABLE items, plain`)
	c.await(t, Broken)
	if s := c.Status(); !strings.Contains(s.Reason, "there is no table public.items") && !strings.Contains(s.Reason, "there is no table public.plain") {
		t.Errorf("status %s", s)
	}
	last := one[int](b, "SELECT max(id) FROM others")
	b.exec(items)
	eventually(t, "rows in the next table", func() bool { return one[int](b, "SELECT count(*) FROM items WHERE id > $1", last) > 50 })
	c.await(t, Reading)
	b.exec(`INSERT INTO plain VALUES (1)`)
	eventually(t, "an event of the table that is not copied", func() bool { return of("plain") == 1 })
	if s := c.Status(); !strings.Contains(s.Reason, "is published from now on") {
		t.Errorf("status %s", s)
	}
	stop()
	eventually(t, "all events of the other table", func() bool { return of("others") == written })
	eventually(t, "an event of each row of the next table", func() bool {
		return one[int](b, `SELECT count(*) FROM items WHERE NOT EXISTS (
			SELECT FROM box.events WHERE topic = 'public.items' AND key = items.id::text AND type IN ('items.insert', 'items.snapshot'))`) == 0
	})
	if n := one[int](b, "SELECT count(*) FROM box.events WHERE key = ''"); n > 0 {
		t.Errorf("%d events have no key", n)
	}
}

// A table that is made anew in one transaction, as migrations do, is noticed too.
func TestATableThatIsReplaced(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	b.exec(`CREATE TABLE items (id int PRIMARY KEY)`)
	c, _ := b.capture(nil, Table{Name: "items", Copy: true})
	c.await(t, Reading)
	b.exec(`INSERT INTO items VALUES (1)`)
	b.awaitEvents(1)
	b.exec(`BEGIN; CREATE TABLE next (id int PRIMARY KEY, more text); INSERT INTO next SELECT id, 'm' FROM items; DROP TABLE items; ALTER TABLE next RENAME TO items; COMMIT;
		INSERT INTO items VALUES (2, 'n')`)
	eventually(t, "both rows as they are now", func() bool {
		return one[int](b, `SELECT count(*) FROM box.events WHERE type = 'items.snapshot' AND convert_from(payload, 'UTF8') LIKE '%"more":%'`) == 2
	})
	c.await(t, Reading)
	b.exec(`DELETE FROM items WHERE id = 2`)
	eventually(t, "the deletion", func() bool { return one[int](b, `SELECT count(*) FROM box.events WHERE type = 'items.delete'`) == 1 })
}

// The outbox's own table is made again: its events come by the slot again.
func TestAnOutboxThatIsMadeAgain(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	f := b.feed(nil)
	f.awaitReading(t)
	b.write("1")
	f.await(t, 1)
	b.exec("DROP TABLE box.events")
	sql, err := postgres.SQL("box")
	if err != nil {
		t.Fatal(err)
	}
	b.exec(sql)
	eventually(t, "the table is published again", func() bool {
		return one[bool](b, "SELECT EXISTS (SELECT FROM pg_publication_tables WHERE pubname = $1)", b.name)
	})
	b.write("2")
	f.await(t, 2)
}
