package cdc

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/postgres"
	"github.com/bezoar-dev/bezoar/outbox"
)

// timed is a sink that tells when a record came.
type timed struct{ came chan time.Time }

func (s *timed) Send(_ context.Context, records []outbox.Record) []error {
	s.came <- time.Now()
	return make([]error, len(records))
}

func (s *timed) Close() error { return nil }

// counting is a sink that only counts.
type counting struct {
	mu sync.Mutex
	n  int
}

func (s *counting) Send(_ context.Context, records []outbox.Record) []error {
	s.mu.Lock()
	s.n += len(records)
	s.mu.Unlock()
	return make([]error, len(records))
}

func (s *counting) Close() error { return nil }

func (s *counting) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

const backlog = 30_000

// writeBacklog makes the feed's slot and then writes events for 1,000 keys, of
// 200 bytes each.
func (b *base) writeBacklog() {
	b.t.Helper()
	f := b.feed(nil)
	f.awaitReading(b.t)
	_ = f.end()
	b.exec("SELECT box.write('orders', (g % 1000)::text, 'paid', '{}', decode(repeat('ab', 200), 'hex'), '') FROM generate_series(1, $1::int) g", backlog)
	b.exec("ANALYZE")
}

// work measures events/s, and the processor's time that an event takes here and in
// the server: on a machine that others use too, only that can be compared.
func (b *base) work(t *testing.B, do func()) {
	spent, began := b.spent(), time.Now()
	do()
	t.ReportMetric(backlog/time.Since(began).Seconds(), "events/s")
	t.ReportMetric(float64((b.spent()-spent).Microseconds())/backlog, "cpu-µs/event")
}

// spent is what this process and the server's have used of the processor. The
// server's processes that have ended are not in it.
func (b *base) spent() time.Duration {
	b.t.Helper()
	var self syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
		b.t.Fatal(err)
	}
	sum := time.Duration(self.Utime.Nano() + self.Stime.Nano())
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if f := strings.Fields(rest); len(f) > 12 && f[1] == strconv.Itoa(b.server.PID()) {
			for _, ticks := range f[11:13] {
				n, _ := strconv.Atoi(ticks)
				sum += time.Duration(n) * 10 * time.Millisecond
			}
		}
	}
	return sum
}

// What the feed alone hands over.
func BenchmarkFeedBacklog(t *testing.B) {
	for range t.N {
		t.StopTimer()
		b := database(t, server(t))
		b.writeBacklog()
		var f *reading
		t.StartTimer()
		b.work(t, func() {
			f = b.feed(nil)
			f.await(t, backlog)
		})
		t.StopTimer()
		_ = f.end()
	}
}

// What a relay delivers: by the feed, and, to compare, by polling.
func BenchmarkRelayBacklog(t *testing.B) {
	for _, how := range []string{"cdc", "poll"} {
		t.Run(how, func(t *testing.B) {
			for range t.N {
				t.StopTimer()
				b := database(t, server(t))
				b.writeBacklog()
				sink := &counting{}
				t.StartTimer()
				b.work(t, func() {
					if how == "cdc" {
						relay(t, b.config().URL, b.name, sink)
					} else {
						poll(t, b.config().URL, sink)
					}
					eventually(t, "everything is delivered", func() bool { return sink.count() >= backlog })
				})
			}
		})
	}
}

// poll runs a relay without a feed until the test ends.
func poll(t testing.TB, url string, sink outbox.Sink) {
	t.Helper()
	store, err := postgres.Open(context.Background(), postgres.Config{URL: url, Schema: "box"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := outbox.New(outbox.Config{Store: store, Owner: "test", Sinks: []outbox.Route{{Name: "sink", Topics: []string{"*"}, Sink: sink}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = r.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended; _ = store.Close() })
}

// What a capture writes of the rows of one transaction.
func BenchmarkCapture(t *testing.B) {
	for range t.N {
		t.StopTimer()
		b := database(t, server(t))
		b.exec("CREATE TABLE items (id int PRIMARY KEY, state text, total numeric)")
		c, end := b.capture(nil, Table{Name: "items"})
		c.await(t, Reading)
		t.StartTimer()
		b.work(t, func() {
			b.exec("INSERT INTO items SELECT g, 'paid', 12.50 FROM generate_series(1, $1::int) g", backlog)
			eventually(t, "all are captured", func() bool { return one[int](b, "SELECT last_value FROM box.positions") >= backlog })
		})
		t.StopTimer()
		end()
	}
}

// How long an event takes from its commit to the sink when little happens.
func BenchmarkLatency(t *testing.B) {
	for _, how := range []string{"cdc", "poll"} {
		t.Run(how, func(t *testing.B) {
			b := database(t, server(t))
			sink := &timed{came: make(chan time.Time, 1)}
			if how == "cdc" {
				r, f := relay(t, b.config().URL, b.name, sink)
				eventually(t, "the feed reads", func() bool { return f.Status().Health == Reading && r.Stats().Leader })
			} else {
				poll(t, b.config().URL, sink)
			}
			var took []time.Duration
			t.ResetTimer()
			for i := range max(t.N, 300) {
				b.exec("SELECT box.write('orders', 'k')")
				committed := time.Now()
				if at := <-sink.came; i >= 20 { // warm
					took = append(took, at.Sub(committed))
				}
				<-time.After(10 * time.Millisecond)
			}
			slices.Sort(took)
			t.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			t.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}
