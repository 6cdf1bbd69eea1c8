package cdc

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/outbox"
)

// reading is a feed that runs and what it has handed over.
type reading struct {
	*Feed
	mu   sync.Mutex
	got  []outbox.Record
	slow func() // called in give, if any
	end  func() error
}

func (b *base) feed(slow func()) *reading {
	b.t.Helper()
	return b.feedWith(b.config(), slow)
}

func (b *base) feedWith(c Config, slow func()) *reading {
	b.t.Helper()
	f, err := NewFeed(FeedConfig{Config: c, Schema: "box"})
	if err != nil {
		b.t.Fatal(err)
	}
	r := &reading{Feed: f, slow: slow}
	r.start(b.t)
	return r
}

// start runs the feed as a relay does: again after it has failed.
func (r *reading) start(t testing.TB) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		for {
			err := r.Run(ctx, r.take)
			if ctx.Err() != nil {
				ended <- err
				return
			}
			t.Logf("the feed ended: %v", err)
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	r.end = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = r.end() })
}

func (r *reading) take(records []outbox.Record) {
	r.mu.Lock()
	r.got = append(r.got, records...)
	slow := r.slow
	r.mu.Unlock()
	if slow != nil {
		slow()
	}
}

func (r *reading) payloads() (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.got {
		out = append(out, string(g.Payload))
	}
	return out
}

func (r *reading) await(t testing.TB, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d records", n), func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.got) >= n
	})
}

func (r *reading) awaitReading(t testing.TB) {
	t.Helper()
	eventually(t, "the feed reads", func() bool { return r.Status().Health == Reading })
}

func (b *base) write(payloads ...string) {
	b.t.Helper()
	for _, p := range payloads {
		b.exec("SELECT box.write('orders', '7', 'paid', $1, $2)", map[string]string{"a": `b"c`}, []byte(p))
	}
}

func TestFeedHandsOverWhatIsCommitted(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	f := b.feed(nil)
	f.awaitReading(t)
	tx, err := b.conn.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	b.write("undone")
	if err := tx.Rollback(context.Background()); err != nil {
		t.Fatal(err)
	}
	b.write("one\x00two", "")
	f.await(t, 2)
	if err := f.end(); err == nil {
		t.Fatal("a feed that is ended returns no error")
	}
	first := f.got[0]
	want := outbox.Record{
		Event:    outbox.Event{ID: first.ID, Topic: "orders", Key: "7", Type: "paid", Headers: map[string]string{"a": `b"c`}, Payload: []byte("one\x00two")},
		Position: one[int64](b, "SELECT min(position) FROM box.events"), Sequence: 1,
		Written: one[time.Time](b, "SELECT min(written_at) FROM box.events").UTC(),
	}
	if fmt.Sprint(first) != fmt.Sprint(want) || len(first.ID) != 36 || len(f.got) != 2 || len(f.got[1].Payload) != 0 {
		t.Fatalf("got %v\nwant %v, and one more", f.got, want)
	}
}

func TestFeedGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	f := b.feed(nil)
	f.awaitReading(t)
	b.write("1")
	f.await(t, 1)
	if err := f.end(); err == nil {
		t.Fatal("no error")
	}
	b.write("2", "3") // nobody reads
	again := b.feed(nil)
	eventually(t, "what was written meanwhile comes, perhaps after what was handed over last", func() bool {
		return strings.HasSuffix(strings.Join(again.payloads(), " "), "2 3")
	})
	if s := again.Status(); s.Reason != "" {
		t.Fatalf("a slot that lasted has a reason: %s", s)
	}
}

func TestFeedMakesALostSlotAnew(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	f := b.feed(nil)
	f.awaitReading(t)
	b.write("1")
	f.await(t, 1)
	_ = f.end()
	b.dropSlot()
	b.write("2") // the poller's
	f.start(t)
	f.awaitReading(t)
	if s := f.Status(); !strings.Contains(s.Reason, "the slot is gone") {
		t.Fatalf("status %s", s)
	}
	eventually(t, "the reason is in the database", func() bool {
		return strings.Contains(one[string](b, "SELECT reason FROM box.cdc WHERE slot = $1", b.name), "the slot is gone")
	})
	_ = f.end()

	b.dropSlot()
	b.write("3")
	b.exec("SELECT pg_create_logical_replication_slot($1, 'pgoutput')", b.name)
	f.start(t)
	f.awaitReading(t)
	if s := f.Status(); !strings.Contains(s.Reason, "recreated or moved") {
		t.Fatalf("status %s", s)
	}
	b.write("4")
	f.await(t, 2)
	if got := strings.Join(f.payloads(), " "); got != "1 4" {
		t.Fatalf("got %s", got)
	}
}

func TestFeedRefusesTheSlotOfAnother(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	b.exec("SELECT pg_create_physical_replication_slot($1)", b.name)
	f := b.feed(nil)
	eventually(t, "the feed says why it does not read", func() bool {
		return strings.Contains(f.Status().Reason, "is a physical slot") && f.Status().Health == Failing
	})
	_ = f.end()
	b.dropSlot()
	b.exec("CREATE PUBLICATION " + b.name + "_2 FOR TABLE box.events")
	c := b.config()
	c.Publication += "_2"
	other, err := NewFeed(FeedConfig{Config: c, Schema: "box"})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Run(context.Background(), func([]outbox.Record) {}); err == nil || !strings.Contains(err.Error(), "publishes insert, update, delete, truncate") {
		t.Fatalf("error %v", err)
	}
}

func TestAFeedThatIsFarBehindSkips(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	f := b.feed(nil)
	f.awaitReading(t)
	_ = f.end()
	b.write("1") // the poller's
	b.fill(2)
	eventually(t, "nobody reads the slot", func() bool {
		return one[bool](b, "SELECT active_pid IS NULL FROM pg_replication_slots WHERE slot_name = $1", b.name)
	})
	f.far = 1 << 20
	f.start(t)
	f.awaitReading(t)
	b.write("2")
	f.await(t, 1)
	if got := strings.Join(f.payloads(), " "); got != "2" || f.Status().Reason != "" {
		t.Fatalf("got %s; status %s", got, f.Status())
	}
}

func TestConfigShowsNoPassword(t *testing.T) {
	c := Config{URL: "postgres://app:secret-1@db/shop", Slot: "s", Publication: "p"}
	if text := fmt.Sprintf("%v %+v %s", c, c, c.LogValue()); strings.Contains(text, "secret-1") || !strings.Contains(text, "db/shop") {
		t.Fatal(text)
	}
	if err := (Config{URL: "mysql://app:secret-1@db/shop", Slot: "A b", Heartbeat: -1}).Validate(); err == nil ||
		strings.Contains(err.Error(), "secret-1") || strings.Count(err.Error(), "\n") != 3 {
		t.Fatalf("error %v", err)
	}
}
