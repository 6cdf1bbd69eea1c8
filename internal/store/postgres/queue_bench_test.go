package postgres_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/store/postgres"
	"github.com/bezoar-dev/bezoar/queue"
)

func benchQueue(b *testing.B, at string) (*queue.Engine, queue.Store) {
	b.Helper()
	store := open(b, postgres.Config{URL: at, Schema: newSchema(b)}).Queue()
	e, err := queue.New(queue.Config{}, store)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := e.CreateQueue(b.Context(), "jobs", queue.DefaultSettings(), nil); err != nil {
		b.Fatal(err)
	}
	return e, store
}

// renew makes n messages of 200 B that differ.
func renew(n int) []queue.SendInput {
	batch := make([]queue.SendInput, n)
	for i := range batch {
		batch[i].Body = make([]byte, 200)
		rand.Read(batch[i].Body)
	}
	return batch
}

// cycle sends ten messages, receives ten and deletes them; each of the three is
// on the disk when it returns. It says how long the receive took.
func cycle(ctx context.Context, e *queue.Engine, n int) (receive time.Duration, err error) {
	if _, err := e.SendBatch(ctx, "jobs", renew(n)); err != nil {
		return 0, err
	}
	began := time.Now()
	m, err := e.Receive(ctx, "jobs", queue.ReceiveInput{Max: n})
	receive = time.Since(began)
	if err != nil || len(m) == 0 {
		return receive, err // others were quicker
	}
	receipts := make([]queue.Receipt, len(m))
	for i := range m {
		receipts[i] = m[i].Receipt
	}
	_, err = e.DeleteBatch(ctx, "jobs", receipts)
	return receive, err
}

// BenchmarkQueue measures send → receive → delete of 200 B in batches of ten.
// The modes are pgx's: exec parses each statement anew, which works behind any
// pooler.
func BenchmarkQueue(b *testing.B) {
	for _, mode := range []string{"exec", "cache_statement", "pgbouncer"} {
		for _, workers := range []int{1, 16} {
			b.Run(fmt.Sprintf("mode=%s/workers=%d", mode, workers), func(b *testing.B) {
				at := server(b)
				if mode != "pgbouncer" {
					at = with(b, at, "default_query_exec_mode", mode)
				} else {
					if at = os.Getenv("BEZOAR_TEST_PGBOUNCER"); at == "" {
						b.Skip("no PgBouncer")
					}
				}
				e, _ := benchQueue(b, with(b, at, "pool_max_conns", "16"))
				work(b, e, workers)
			})
		}
	}
}

func work(b *testing.B, e *queue.Engine, workers int) {
	var cycles atomic.Int64
	b.SetParallelism((workers + 1) / 2)
	b.ResetTimer()
	if workers == 1 {
		for range b.N {
			if _, err := cycle(b.Context(), e, 10); err != nil {
				b.Fatal(err)
			}
			cycles.Add(1)
		}
	} else {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := cycle(b.Context(), e, 10); err != nil {
					b.Error(err)
					return
				}
				cycles.Add(1)
			}
		})
	}
	b.ReportMetric(float64(10*cycles.Load())/b.Elapsed().Seconds(), "msgs/s")
}

// BenchmarkBehind measures a receive, and counting, with so many messages
// waiting.
func BenchmarkBehind(b *testing.B) {
	for _, waiting := range []int{0, 1_000_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			e, _ := benchQueue(b, with(b, server(b), "default_query_exec_mode", "cache_statement"))
			for sent := 0; sent < waiting; sent += queue.MaxBatch {
				if _, err := e.SendBatch(b.Context(), "jobs", renew(queue.MaxBatch)); err != nil {
					b.Fatal(err)
				}
			}
			var receives, counts []time.Duration
			for b.Loop() {
				receive, err := cycle(b.Context(), e, 10)
				if err != nil {
					b.Fatal(err)
				}
				began := time.Now()
				if _, err := e.Counts(b.Context(), "jobs"); err != nil {
					b.Fatal(err)
				}
				receives, counts = append(receives, receive), append(counts, time.Since(began))
			}
			slices.Sort(receives)
			slices.Sort(counts)
			b.ReportMetric(float64(receives[len(receives)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(receives[len(receives)*99/100].Microseconds()), "p99-µs")
			b.ReportMetric(float64(counts[len(counts)*99/100].Microseconds()), "counts-p99-µs")
		})
	}
}

// BenchmarkGroups counts 100,000 letters in 50 groups.
func BenchmarkGroups(b *testing.B) {
	e, store := benchQueue(b, server(b))
	for i := 0; i < 100_000; i += queue.MaxBatch {
		if _, err := e.SendBatch(b.Context(), "jobs", renew(queue.MaxBatch)); err != nil {
			b.Fatal(err)
		}
		q, err := store.Queue(b.Context(), "jobs")
		if err != nil {
			b.Fatal(err)
		}
		claimed, err := store.Receive(b.Context(), q.ID, queue.Claim{Max: queue.MaxBatch, Visibility: time.Minute, Retention: time.Hour})
		if err != nil {
			b.Fatal(err)
		}
		var changes []queue.Change
		for j, m := range claimed.Messages {
			changes = append(changes, queue.Change{Receipt: m.Receipt, Release: true, Dead: true, Outcome: &queue.Outcome{
				Class: bezoar.Bug, Failure: fmt.Sprintf("%032x", j%50), Reason: "something went wrong in a place with a long name",
			}})
		}
		if _, err := store.Change(b.Context(), q.ID, queue.Policy{DeadLetter: "jobs-dlq", Implicit: true}, changes); err != nil {
			b.Fatal(err)
		}
	}
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		groups, err := store.Groups(b.Context(), queue.Selection{Queue: "jobs-dlq"}, 100)
		took = append(took, time.Since(began))
		if err != nil || len(groups) != 50 {
			b.Fatal(len(groups), err)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
