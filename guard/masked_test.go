package guard

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestAShapeShowsOneQueryWithoutItsValues(t *testing.T) {
	masks := 0
	g, err := New(Config{Mask: func(q *Query) string {
		masks++
		return "masked:\n  " + string(bytes.Repeat([]byte("é"), len(q.Body)))
	}})
	if err != nil {
		t.Fatal(err)
	}
	var v Verdict
	for i := range 3 { // of one shape
		g.Check(&Query{Kind: SQL, Body: fmt.Appendf(nil, "SELECT a FROM t WHERE b = %d", i)}, &v)
	}
	if got := g.Shapes(10); masks != 1 || len(got) != 1 || got[0].Query != "masked: "+strings.Repeat("é", 27) {
		t.Errorf("masked %d times: %+v", masks, got)
	}
	long := []byte("SELECT a FROM t JOIN u ON t.c = u.c WHERE c = '" + strings.Repeat("x", 600) + "'")
	g.Check(&Query{Kind: SQL, Body: long}, &v)
	g.Check(&Query{Kind: SQL, Body: []byte("SELECT d FROM t JOIN u ON t.c = u.c JOIN v ON v.c = u.c WHERE c = '" + strings.Repeat("x", largestMasked) + "'")}, &v)
	for _, s := range g.Shapes(10) {
		if len(s.Query) > maxMasked+len("…") || strings.ContainsRune(s.Query, '\uFFFD') {
			t.Errorf("%d bytes are shown", len(s.Query))
		}
	}
	if masks != 2 {
		t.Errorf("masked %d times: one was too large", masks)
	}
}

// Who makes up shapes does not have each masked.
func TestMaskingIsBounded(t *testing.T) {
	var b maskBudget
	now := time.Unix(1e9, 0)
	taken := 0
	for range 10 * maskBurst {
		if b.take(now) {
			taken++
		}
	}
	if taken != maskBurst {
		t.Errorf("%d at once", taken)
	}
	for range 1000 { // one second
		now = now.Add(time.Millisecond)
		if b.take(now) {
			taken++
		}
	}
	if taken < maskBurst+masksPerSecond-1 || taken > maskBurst+masksPerSecond {
		t.Errorf("%d in a second", taken-maskBurst)
	}
}
