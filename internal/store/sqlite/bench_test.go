package sqlite_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
)

// BenchmarkPut measures acknowledged writes: each is on the disk. With many
// writers, commits are shared.
func BenchmarkPut(b *testing.B) {
	body := make([]byte, 1024)
	for _, writers := range []int{1, 64} {
		for kind, put := range map[string]func(*testing.B, *sqlite.DB, int64) error{
			"verdict": func(b *testing.B, db *sqlite.DB, i int64) error {
				v := bezoar.Verdict{ID: fmt.Sprint("q-", i%1000), Fleet: "search", Evidence: make([]bezoar.Evidence, 2)}
				return db.Ledger().PutVerdict(b.Context(), v)
			},
			"letter": func(b *testing.B, db *sqlite.DB, i int64) error {
				l := bezoar.Letter{ID: fmt.Sprint("dl-", i), Fleet: "search", Last: time.UnixMicro(i), Evidence: make([]bezoar.Evidence, 2)}
				l.Fingerprint = bezoar.Fingerprint{1, byte(i), byte(i >> 8), byte(i >> 16), byte(i >> 24)}
				l.Request.Body = body
				_, err := db.Ledger().PutLetter(b.Context(), l)
				return err
			},
		} {
			b.Run(fmt.Sprintf("%s/writers=%d", kind, writers), func(b *testing.B) {
				db := open(b, sqlite.Config{Path: filepath.Join(b.TempDir(), "bezoar.db")})
				var n atomic.Int64
				b.SetParallelism((writers + 1) / 2)
				if writers == 1 {
					for b.Loop() {
						if err := put(b, db, n.Add(1)); err != nil {
							b.Fatal(err)
						}
					}
				} else {
					b.RunParallel(func(pb *testing.PB) {
						for pb.Next() {
							if err := put(b, db, n.Add(1)); err != nil {
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
