package guard

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestAShapeShowsOneQueryWithoutItsValues(t *testing.T) {
	g, err := New(Config{ShowQueries: true})
	if err != nil {
		t.Fatal(err)
	}
	var v Verdict
	for i := range 3 { // of one shape
		g.Check(&Query{Kind: SQL, Body: fmt.Appendf(nil, "SELECT a FROM t WHERE b = %d", i)}, &v)
	}
	if got := g.Shapes(10); len(got) != 1 || got[0].Query != "SELECT a FROM t WHERE b = ?" {
		t.Errorf("%+v", got)
	}
	long := []byte("SELECT a" + strings.Repeat(", é", 600) + " FROM t JOIN u ON t.c = u.c")
	g.Check(&Query{Kind: SQL, Body: long}, &v)
	g.Check(&Query{Kind: SQL, Body: []byte("SELECT d FROM t JOIN u ON t.c = u.c JOIN v ON v.c = u.c WHERE c = '" + strings.Repeat("x", largestShown) + "'")}, &v)
	longest := 0
	for _, s := range g.Shapes(10) {
		longest = max(longest, len(s.Query))
		if strings.Contains(s.Query, "SELECT d") || len(s.Query) > maxShown+len("…") || strings.ContainsRune(s.Query, '\uFFFD') {
			t.Errorf("%d bytes are shown: %s", len(s.Query), s.Query)
		}
	}
	if longest < maxShown {
		t.Errorf("at most %d bytes are shown", longest)
	}
}

// Who makes up shapes does not have a query written out for each.
func TestShowingQueriesIsBounded(t *testing.T) {
	var b showBudget
	now := time.Unix(1e9, 0)
	taken := 0
	for range 10 * shownBurst {
		if b.take(now) {
			taken++
		}
	}
	if taken != shownBurst {
		t.Errorf("%d at once", taken)
	}
	for range 1000 { // one second
		now = now.Add(time.Millisecond)
		if b.take(now) {
			taken++
		}
	}
	if taken < shownBurst+shownPerSecond-1 || taken > shownBurst+shownPerSecond {
		t.Errorf("%d in a second", taken-shownBurst)
	}
}
