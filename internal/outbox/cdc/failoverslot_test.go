package cdc

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/test/pgtest"
)

// The primary is killed under load and a standby that keeps its slots is promoted:
// feed and capture read on where they were, and nothing is missing or told of as such.
// PostgreSQL has had such slots since 17, which is newer than what Debian 12 has.
func TestAFailoverSlotIsKept(t *testing.T) {
	bin := os.Getenv("BEZOAR_TEST_POSTGRES17")
	if bin == "" {
		t.Skip("BEZOAR_TEST_POSTGRES17 does not name the folder of initdb, pg_ctl and postgres of PostgreSQL 17 or later")
	}
	t.Parallel()
	first := pgtest.StartOf(t, bin, "fsync = off", "synchronized_standby_slots = 'standby'")
	t.Cleanup(first.Remove)
	admin := dial(t, first.URL("postgres"))
	exec(t, admin, "SELECT pg_create_physical_replication_slot('standby', true)")
	second := first.StandbyByCopy(t,
		func() { exec(t, admin, "SELECT pg_backup_start('standby', true)") },
		func() (label string) {
			if err := admin.QueryRow(context.Background(), "SELECT labelfile FROM pg_backup_stop()").Scan(&label); err != nil {
				t.Fatal(err)
			}
			return label
		},
		"sync_replication_slots = on", "hot_standby_feedback = on", "primary_slot_name = 'standby'", "synchronized_standby_slots = ''",
		fmt.Sprintf("primary_conninfo = 'host=127.0.0.1 port=%d user=bezoar dbname=postgres'", first.Port))
	t.Cleanup(second.Remove)

	b := database(t, first)
	b.exec("CREATE TABLE counters (key text PRIMARY KEY, n int)")
	keys := []string{"a", "b", "c"}
	for _, k := range keys {
		b.exec("INSERT INTO counters VALUES ($1, 0)", k)
	}
	exec(t, admin, "ALTER SYSTEM SET synchronous_standby_names = '*'")
	exec(t, admin, "SELECT pg_reload_conf()")
	eventually(t, "the standby is synchronous", func() bool {
		return one[int](b, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == 1
	})
	url := fmt.Sprintf("postgres://bezoar@127.0.0.1:%d,127.0.0.1:%d/%s?sslmode=disable&target_session_attrs=read-write", first.Port, second.Port, b.name)
	sink := &ledger{got: map[string][]int{}, seen: map[string]bool{}}
	r, f := relay(t, url, b.name, sink)
	c, _ := b.capture(func(c *CaptureConfig) { c.URL, c.Slot, c.Publication = url, b.name+"_t", b.name+"_t" }, Table{Name: "counters"})
	c.await(t, Reading)
	stop := make(chan struct{})
	var producers sync.WaitGroup
	for _, k := range keys {
		producers.Go(func() { produce(url, k, stop) })
	}
	end := sync.OnceFunc(func() { close(stop); producers.Wait() })
	t.Cleanup(end)
	eventually(t, "events from the first server", func() bool { return sink.count() >= 200 && r.Stats().Fed >= 100 })
	standby := &base{t: t, server: second, name: "postgres", conn: dial(t, second.URL("postgres"))}
	eventually(t, "the standby has both slots", func() bool {
		return one[int](standby, "SELECT count(*) FROM pg_replication_slots WHERE synced AND NOT temporary AND failover") == 2
	})

	first.Stop(t, "immediate")
	second.Promote(t)
	before, fed := sink.count(), r.Stats().Fed
	eventually(t, "events from the second server, by its slot too", func() bool {
		return sink.count() >= before+200 && r.Stats().Fed >= fed+100
	})
	if s := f.Status(); s.Health != Reading || s.Reason != "" {
		t.Errorf("status of the feed %s", s)
	}
	c.await(t, Reading)
	if s := c.Status(); strings.Contains(s.Reason, "slot") {
		t.Errorf("status of the capture %s", s)
	}
	end()
	b = &base{t: t, server: second, name: b.name, conn: dial(t, second.URL(b.name))}
	eventually(t, "everything is delivered", func() bool { return one[int](b, "SELECT count(*) FROM box.pending") == 0 })
	for _, k := range keys {
		written := one[int](b, "SELECT n FROM counters WHERE key = $1", k)
		got := sink.of(k)
		for i, n := range got {
			if n != i+1 {
				t.Errorf("%s: event %d came in place %d", k, n, i+1)
			}
		}
		if len(got) != written {
			t.Errorf("%s: %d events of %d", k, len(got), written)
		}
	}
}
