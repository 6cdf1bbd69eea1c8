package stale_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/stale"
)

var head = answer(200, "Content-Type: application/json\nDate: Mon, 01 Jan 2024 00:00:00 GMT\nCache-Control: public, max-age=60\nVary: Accept-Encoding\nETag: \"abc\"", "")

func filled(b *testing.B, n int) *stale.Cache {
	c := stale.New(stale.Config{})
	for i := range n {
		put(b, c, i, "x")
	}
	b.ReportAllocs()
	return c
}

func BenchmarkPut(b *testing.B) {
	c := filled(b, 65_536) // full: each evicts
	a := head
	a.Body = []byte(strings.Repeat("x", 1024))
	now := start
	for i := 0; b.Loop(); i++ {
		now = now.Add(time.Millisecond)
		c.Put(key(i&(1<<20-1)), a, now)
	}
}

func BenchmarkGet(b *testing.B) {
	c := filled(b, 65_536)
	for i := 0; b.Loop(); i++ {
		c.Get(key(i&65_535), start, 0)
	}
}

// What a request pays whose answer need not be recorded.
func BenchmarkRecordFresh(b *testing.B) {
	c := filled(b, 65_536)
	for i := 0; b.Loop(); i++ {
		r := c.Record(key(i&65_535), head, start)
		r.Discard()
	}
}

func BenchmarkRecordRefused(b *testing.B) {
	c, a := filled(b, 1), answer(200, "Content-Type: application/json\nDate: Mon, 01 Jan 2024 00:00:00 GMT\nCache-Control: private, max-age=0", "")
	for b.Loop() {
		r := c.Record(key(7), a, start)
		r.Discard()
	}
}
