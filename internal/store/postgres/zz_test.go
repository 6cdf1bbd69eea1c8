package postgres_test

import "testing"
import "os"

func TestZZ(t *testing.T) {
	at := os.Getenv("ZZ")
	if at == "" { t.Skip() }
	b := testing.Benchmark(func(b *testing.B) {
		e, _ := benchQueue(b, at)
		work(b, e, 1)
	})
	t.Log(b)
}
