package fingerprint_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/internal/test/bodies"
)

// BenchmarkReal is what bodies that have not come before cost, of four kinds of API in turn.
func BenchmarkReal(b *testing.B) {
	for _, size := range []int{1 << 10, 4 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("%dk", size>>10), func(b *testing.B) {
			p, err := fingerprint.New(fingerprint.Key{1, 2, 3}, fingerprint.Config{})
			if err != nil {
				b.Fatal(err)
			}
			fingerprint.Forgetful(p)
			r := rand.New(rand.NewPCG(3, 4))
			var all [][]byte
			sum := 0
			for range 512 {
				all = append(all, bodies.Make(r, size))
				sum += len(all[len(all)-1])
			}
			in := fingerprint.Input{Method: "POST", Path: "/api/v1/orders", ContentType: "application/json", Header: header, Complete: true}
			b.ReportAllocs()
			b.SetBytes(int64(sum / len(all)))
			var s sink
			for i := 0; b.Loop(); i++ {
				in.Body = all[i%len(all)]
				in.Length = int64(len(in.Body))
				s.work, s.shape = p.Work(&in)
			}
			if s.work.IsZero() {
				b.Fatal("no fingerprint")
			}
		})
	}
}
