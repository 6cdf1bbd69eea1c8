package postgres_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/store/postgres"
)

// BenchmarkPut measures committed writes, from one writer and from many.
func BenchmarkPut(b *testing.B) {
	body := make([]byte, 1024)
	for _, writers := range []int{1, 64} {
		for kind, put := range map[string]func(*testing.B, ledger.Store, int64) error{
			"verdict": func(b *testing.B, s ledger.Store, i int64) error {
				v := bezoar.Verdict{ID: fmt.Sprint("q-", i%1000), Fleet: "search", Evidence: make([]bezoar.Evidence, 2)}
				return s.PutVerdict(b.Context(), v)
			},
			"letter": func(b *testing.B, s ledger.Store, i int64) error {
				l := bezoar.Letter{ID: fmt.Sprint("dl-", i), Fleet: "search", Last: time.UnixMicro(i), Evidence: make([]bezoar.Evidence, 2)}
				l.Fingerprint = bezoar.Fingerprint{1, byte(i), byte(i >> 8), byte(i >> 16), byte(i >> 24)}
				l.Request.Body = body
				_, err := s.PutLetter(b.Context(), l)
				return err
			},
		} {
			b.Run(fmt.Sprintf("%s/writers=%d", kind, writers), func(b *testing.B) {
				s := open(b, postgres.Config{URL: server(b), Schema: newSchema(b)}).Ledger()
				var n atomic.Int64
				if writers == 1 {
					for b.Loop() {
						if err := put(b, s, n.Add(1)); err != nil {
							b.Fatal(err)
						}
					}
				} else {
					b.SetParallelism((writers + 1) / 2)
					b.RunParallel(func(pb *testing.PB) {
						for pb.Next() {
							if err := put(b, s, n.Add(1)); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "puts/s")
			})
		}
	}
}
