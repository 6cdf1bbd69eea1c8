package queue_test

import (
	"fmt"
	"testing"

	"github.com/bezoar-dev/bezoar/queue"
)

// BenchmarkRound sends, receives and deletes batches of ten 200 B messages with
// the memory store: what the engine itself costs.
func BenchmarkRound(b *testing.B) {
	for _, worker := range []string{"", "10.0.0.1:4711"} {
		b.Run("worker="+worker, func(b *testing.B) { benchmarkRound(b, worker) })
	}
}

func benchmarkRound(b *testing.B, worker string) {
	e, err := queue.New(queue.Config{}, memoryStore(b))
	if err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	if _, err := e.CreateQueue(ctx, "jobs", queue.DefaultSettings(), nil); err != nil {
		b.Fatal(err)
	}
	in := make([]queue.SendInput, 10)
	receipts := make([]queue.Receipt, 0, 10)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		for i := range in {
			n++
			in[i].Body = fmt.Appendf(in[i].Body[:0], `{"id":%012d,"name":"report","args":["%0120d"],"at":"2026-11-28T03:00:00Z"}`, n+100_000_000_000, n)
		}
		if _, err := e.SendBatch(ctx, "jobs", in); err != nil {
			b.Fatal(err)
		}
		m, err := e.Receive(ctx, "jobs", queue.ReceiveInput{Max: 10, Worker: worker})
		if err != nil || len(m) != 10 {
			b.Fatal(len(m), err)
		}
		receipts = receipts[:0]
		for _, m := range m {
			receipts = append(receipts, m.Receipt)
		}
		if _, err := e.DeleteBatch(ctx, "jobs", receipts); err != nil {
			b.Fatal(err)
		}
	}
}
