package sqlite_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
	"github.com/bezoar-dev/bezoar/queue"
)

func benchQueue(b *testing.B) *queue.Engine {
	b.Helper()
	e, err := queue.New(queue.Config{}, open(b, sqlite.Config{Path: filepath.Join(b.TempDir(), "bezoar.db")}).Queue())
	if err != nil {
		b.Fatal(err)
	}
	if _, err := e.CreateQueue(b.Context(), "jobs", queue.DefaultSettings(), nil); err != nil {
		b.Fatal(err)
	}
	return e
}

func batchOf(n int) []queue.SendInput {
	batch := make([]queue.SendInput, n)
	for i := range batch {
		batch[i].Body = make([]byte, 200)
	}
	return batch
}

// differ makes all bodies different ones: copies would wait for each other.
func differ(batch []queue.SendInput) {
	for i := range batch {
		rand.Read(batch[i].Body[:16])
	}
}

// cycle sends ten messages, receives ten and deletes them; each of the three is
// on the disk when it returns. It says how long the receive took.
func cycle(ctx context.Context, e *queue.Engine, batch []queue.SendInput) (receive time.Duration, err error) {
	differ(batch)
	if _, err := e.SendBatch(ctx, "jobs", batch); err != nil {
		return 0, err
	}
	began := time.Now()
	m, err := e.Receive(ctx, "jobs", queue.ReceiveInput{Max: len(batch)})
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
func BenchmarkQueue(b *testing.B) {
	for _, workers := range []int{1, 16} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			e, batch := benchQueue(b), batchOf(10)
			var cycles atomic.Int64
			b.SetParallelism((workers + 1) / 2)
			b.ResetTimer()
			if workers == 1 {
				for range b.N {
					if _, err := cycle(b.Context(), e, batch); err != nil {
						b.Fatal(err)
					}
					cycles.Add(1)
				}
			} else {
				b.RunParallel(func(pb *testing.PB) {
					batch := batchOf(10)
					for pb.Next() {
						if _, err := cycle(b.Context(), e, batch); err != nil {
							b.Error(err)
							return
						}
						cycles.Add(1)
					}
				})
			}
			b.ReportMetric(float64(10*cycles.Load())/b.Elapsed().Seconds(), "msgs/s")
		})
	}
}

// BenchmarkReceiveBehind measures a receive with so many messages waiting.
func BenchmarkReceiveBehind(b *testing.B) {
	for _, waiting := range []int{0, 1_000_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			e, fill := benchQueue(b), batchOf(queue.MaxBatch)
			for sent := 0; sent < waiting; sent += len(fill) {
				differ(fill)
				if _, err := e.SendBatch(b.Context(), "jobs", fill); err != nil {
					b.Fatal(err)
				}
			}
			batch := batchOf(10)
			var took []time.Duration
			b.ResetTimer()
			for range b.N {
				receive, err := cycle(b.Context(), e, batch)
				if err != nil {
					b.Fatal(err)
				}
				took = append(took, receive)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}
