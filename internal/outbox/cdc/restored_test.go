package cdc

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/test/pgtest"
)

// A backup that was taken under load is restored into another cluster, where the slots are
// not: what is there and not delivered is delivered, in the order of each key, and what is
// written there comes by a slot again. The reader of tables waits for a person.
func TestARestoredDatabaseLosesNothing(t *testing.T) {
	t.Parallel()
	first := pgtest.Start(t, "fsync = off")
	t.Cleanup(first.Remove)
	b := database(t, first)
	b.exec("CREATE TABLE counters (key text PRIMARY KEY, n int)")
	keys := []string{"a", "b"}
	for _, k := range keys {
		b.exec("INSERT INTO counters VALUES ($1, 0)", k)
	}
	old := &ledger{got: map[string][]int{}, seen: map[string]bool{}}
	stop := b.load(t, old, keys)
	backup := first.Restored(t)
	t.Cleanup(backup.Remove)
	fresh := pgtest.Start(t, "fsync = off")
	t.Cleanup(fresh.Remove)
	first.Copy(t, b.name, fresh)
	stop()
	for name, test := range map[string]struct {
		server *pgtest.Server
		lost   string
	}{
		"base backup": {backup, "the slot is gone: changes committed after"},
		"dump":        {fresh, "the database is now in another cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &base{t: t, server: test.server, name: b.name, conn: dial(t, test.server.URL(b.name))}
			sink := &ledger{got: map[string][]int{}, seen: map[string]bool{}}
			c, end := r.capture(func(c *CaptureConfig) { c.Slot, c.Publication = b.name+"_t", b.name+"_t" }, Table{Name: "counters"})
			c.await(t, Broken)
			if s := c.Status(); !strings.Contains(s.Reason, test.lost) || !strings.Contains(s.Reason, "bezoar outbox slots --reset "+b.name+"_t") {
				t.Errorf("status of the tables' reader %s", s)
			}
			if err := c.reader.c.Reset(context.Background(), "box"); err != nil { // a person decides
				t.Fatal(err)
			}
			c.await(t, Reading)
			end()
			r.load(t, sink, keys)()
			for _, k := range keys {
				written := one[int](r, "SELECT n FROM counters WHERE key = $1", k)
				before, got := len(old.of(k)), sink.of(k)
				if len(got) == 0 || got[0] > before+1 || got[len(got)-1] != written {
					t.Fatalf("key %s: %d were delivered before, and %v of %d after", k, before, got, written)
				}
				if !slices.IsSorted(got) || got[len(got)-1]-got[0] != len(got)-1 {
					t.Errorf("key %s: out of order, or with gaps: %v", k, got)
				}
			}
			eventually(t, "the tables' reader tells changes again", func() bool {
				return one[int](r, "SELECT count(*) FROM box.events WHERE topic = 'public.counters'") > 0
			})
		})
	}
}

// load has a relay and producers work, and returns when some events came by the slot. The
// function that it returns ends the producers, waits until all is delivered, and ends the
// relay.
func (b *base) load(t *testing.T, sink *ledger, keys []string) (stop func()) {
	t.Helper()
	url := b.server.URL(b.name)
	c, endCapture := b.capture(func(c *CaptureConfig) { c.Slot, c.Publication = b.name+"_t", b.name+"_t" }, Table{Name: "counters"})
	c.await(t, Reading)
	r, f := relay(t, url, b.name, sink)
	quit := make(chan struct{})
	var producers sync.WaitGroup
	for _, k := range keys {
		producers.Go(func() { produce(url, k, quit) })
	}
	end := sync.OnceFunc(func() { close(quit); producers.Wait() })
	t.Cleanup(end)
	eventually(t, "events come by the slot", func() bool { return r.Stats().Fed >= 100 && f.Status().Health == Reading })
	return func() {
		end()
		eventually(t, "everything is delivered", func() bool {
			return one[int](b, "SELECT count(*) FROM box.pending WHERE topic = 'orders'") == 0
		})
		endCapture()
	}
}
