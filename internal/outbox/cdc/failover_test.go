package cdc

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/postgres"
	"github.com/bezoar-dev/bezoar/internal/test/pgtest"
	"github.com/bezoar-dev/bezoar/outbox"
)

// ledger is a sink that knows what it got, by key.
type ledger struct {
	mu    sync.Mutex
	got   map[string][]int // numbers, each where it came first
	seen  map[string]bool  // IDs
	total int
}

func (l *ledger) Send(_ context.Context, records []outbox.Record) []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range records {
		if r.Topic == "orders" && !l.seen[r.ID] {
			l.seen[r.ID] = true
			n, _ := strconv.Atoi(string(r.Payload))
			l.got[r.Key] = append(l.got[r.Key], n)
			l.total++
		}
	}
	return make([]error, len(records))
}

func (l *ledger) Close() error { return nil }

// of is what it got of a key.
func (l *ledger) of(key string) []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.got[key])
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// produce writes events for key, each with the next number of a counter that the same
// transaction moves on, until stop is closed. It connects again as often as it must.
func produce(url, key string, stop <-chan struct{}) {
	ctx := context.Background()
	for {
		conn, err := pgx.Connect(ctx, url)
		for err == nil {
			select {
			case <-stop:
				closeConn(conn)
				return
			default:
			}
			err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
				var n int
				if err := tx.QueryRow(ctx, "UPDATE counters SET n = n + 1 WHERE key = $1 RETURNING n", key).Scan(&n); err != nil {
					return err
				}
				return outbox.Write(ctx, outbox.Pgx(tx).In("box"), outbox.Event{Topic: "orders", Key: key, Payload: []byte(strconv.Itoa(n))})
			})
		}
		if conn != nil {
			closeConn(conn)
		}
		select {
		case <-stop:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// relay runs a relay with a feed until the test ends.
func relay(t testing.TB, url, slot string, sink outbox.Sink) (*outbox.Relay, *Feed) {
	t.Helper()
	f, err := NewFeed(FeedConfig{Config: Config{URL: url, Slot: slot, Publication: slot, Heartbeat: 200 * time.Millisecond}, Schema: "box"})
	if err != nil {
		t.Fatal(err)
	}
	store, err := postgres.Open(context.Background(), postgres.Config{URL: url, Schema: "box"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := outbox.New(outbox.Config{
		Store: store, Owner: "test", Feed: f, Lease: 5 * time.Second,
		Sinks: []outbox.Route{{Name: "ledger", Topics: []string{"*"}, Sink: sink}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = r.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended; _ = store.Close() })
	return r, f
}

// The primary is killed under load and its standby promoted: what was committed is
// delivered, in the order of each key. The slot is not on the standby.
func TestAPromotedStandbyLosesNothing(t *testing.T) {
	t.Parallel()
	first := pgtest.Start(t, "fsync = off")
	t.Cleanup(first.Remove)
	b := database(t, first)
	b.exec("CREATE TABLE counters (key text PRIMARY KEY, n int)")
	keys := []string{"a", "b", "c"}
	for _, k := range keys {
		b.exec("INSERT INTO counters VALUES ($1, 0)", k)
	}
	second := first.Standby(t, "fsync = off")
	t.Cleanup(second.Remove)
	// What is committed is on the standby: PostgreSQL itself would lose it otherwise.
	b.exec("ALTER SYSTEM SET synchronous_standby_names = '*'")
	b.exec("SELECT pg_reload_conf()")
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

	first.Stop(t, "immediate")
	second.Promote(t)
	before, fed := sink.count(), r.Stats().Fed
	eventually(t, "events from the second server, by its slot too", func() bool {
		return sink.count() >= before+200 && r.Stats().Fed >= fed+100
	})
	if s := f.Status(); s.Health != Reading || !strings.Contains(s.Reason, "the slot is gone after the promotion of a standby (timeline 2; it was 1)") {
		t.Errorf("status %s", s)
	}
	c.await(t, Broken) // what the tables' slot has not told is not known
	if s := c.Status(); !strings.Contains(s.Reason, "the slot is gone after the promotion of a standby") {
		t.Errorf("status %s", s)
	}
	end()
	b = &base{t: t, server: second, name: b.name, conn: dial(t, second.URL(b.name))}
	eventually(t, "everything is delivered", func() bool { return one[int](b, "SELECT count(*) FROM box.pending") == 0 })
	for _, k := range keys {
		written := one[int](b, "SELECT n FROM counters WHERE key = $1", k)
		got := sink.of(k)
		for i, n := range got {
			if n != i+1 {
				t.Fatalf("key %s: event %d came in place %d", k, n, i+1)
			}
		}
		if len(got) != written {
			t.Fatalf("key %s: %d events of %d", k, len(got), written)
		}
	}
}
