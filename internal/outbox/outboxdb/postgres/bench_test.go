package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bezoar-dev/bezoar/outbox"
)

// null is a sink that takes everything, and notes how long each event took.
type null struct {
	mu   sync.Mutex
	n    int
	want int
	took []time.Duration
	done chan struct{}
}

func (s *null) Send(_ context.Context, records []outbox.Record) []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range records {
		s.took = append(s.took, time.Since(r.Written))
	}
	if s.n += len(records); s.n >= s.want {
		close(s.done)
		s.want = 1 << 60
	}
	return make([]error, len(records))
}

func (s *null) Close() error { return nil }

func newNull(want int) *null { return &null{want: want, done: make(chan struct{})} }

// run relays until the sink has all.
func run(b *testing.B, d *database, sink *null) {
	b.Helper()
	r, err := outbox.New(outbox.Config{Store: d.Store, Owner: "bench", Sinks: []outbox.Route{{Name: "null", Topics: []string{"*"}, Sink: sink}}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	<-sink.done
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}

// BenchmarkBacklog delivers events that were written before, with 200 bytes each
// and 1,000 keys.
func BenchmarkBacklog(b *testing.B) {
	d := newOutbox(b, connect(b, server(b)))
	var took time.Duration
	const n = 50_000
	for b.Loop() {
		b.StopTimer()
		backlog(b, d.pool, d.schema, n)
		sink := newNull(n)
		b.StartTimer()
		began := time.Now()
		run(b, d, sink)
		took += time.Since(began)
	}
	b.ReportMetric(n*float64(b.N)/took.Seconds(), "events/s")
}

func backlog(b *testing.B, pool *pgxpool.Pool, schema string, n int) {
	b.Helper()
	for range n / 1000 {
		_, err := pool.Exec(b.Context(), fmt.Sprintf(`SELECT count(%s.write('orders.paid', g::text, payload => decode(repeat('ab', 200), 'hex')))
			FROM generate_series(1, 1000) g`, schema))
		if err != nil {
			b.Fatal(err)
		}
	}
	if _, err := pool.Exec(b.Context(), fmt.Sprintf(`VACUUM ANALYZE %[1]s.pending, %[1]s.events`, schema)); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkIdle writes one event after the other with pauses between.
func BenchmarkIdle(b *testing.B) {
	d := newOutbox(b, connect(b, server(b)))
	for b.Loop() {
		const n = 200
		sink := newNull(n)
		go func() {
			tick := time.NewTicker(17 * time.Millisecond)
			defer tick.Stop()
			for range n {
				<-tick.C
				tx, err := d.Begin(b.Context())
				if err == nil {
					err = tx.Write(b.Context(), outbox.Event{Topic: "t", Key: "k"})
				}
				if err == nil {
					err = tx.Commit(b.Context())
				}
				if err != nil {
					b.Error(err)
				}
			}
		}()
		run(b, d, sink)
		slices.Sort(sink.took)
		b.ReportMetric(float64(sink.took[n/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(sink.took[n*99/100].Microseconds())/1000, "p99-ms")
	}
}
