package guard_test

import (
	"bytes"
	"compress/gzip"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// inflates is a body that is n bytes long when it is unpacked, and a thousandth of
// that before.
func inflates(t *testing.T, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for _, text := range [][]byte{[]byte(`{"size":10}`), bytes.Repeat([]byte(" "), n-11)} {
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// memory counts what is taken, for all queries together.
type memory struct {
	now, most atomic.Int64
	limit     int64 // of all; 0: none
}

// share is what one query takes of it.
type share struct {
	of   *memory
	held int64
}

func (s *share) Take(n int) bool {
	now := s.of.now.Add(int64(n) - s.held)
	s.held = int64(n)
	for {
		most := s.of.most.Load()
		if now <= most || s.of.most.CompareAndSwap(most, now) {
			return s.of.limit == 0 || now <= s.of.limit
		}
	}
}

// However many small bodies inflate at once, only as many are in memory as may
// take their turn, and what they take is known before they take it.
func TestBodiesThatInflateWaitForTheirTurn(t *testing.T) {
	const size, turns = 4 << 20, 2
	queries := pace.Rounds(24, 6)
	body, all := inflates(t, size), new(memory)
	shared := make(chan struct{}, turns)
	var both [2]*guard.Guard
	for i := range both {
		g, err := guard.New(guard.Config{Turns: shared})
		if err != nil {
			t.Fatal(err)
		}
		both[i] = g
	}
	var done sync.WaitGroup
	for i := range queries {
		done.Go(func() {
			var v guard.Verdict
			s := &share{of: all}
			both[i%2].Check(&guard.Query{Kind: guard.Elasticsearch, Method: "POST", Path: "/x/_search", ContentEncoding: "gzip", Body: body, Room: s}, &v)
			all.now.Add(-s.held)
			if v.Verdict != guard.Accepted {
				t.Errorf("%s: %v", v.Verdict, v.Findings)
			}
		})
	}
	done.Wait()
	// Some that have just given their turn back may not have given their memory back.
	if most := all.most.Load(); most < size || most > 3*turns*3*size {
		t.Errorf("%d bodies of %d bytes (%d when unpacked) took %d bytes at once", queries, len(body), size, most)
	}
	if len(shared) > 0 {
		t.Errorf("%d turns were not given back", len(shared))
	}
}

func TestWithoutRoomAQueryIsBeyondItsLength(t *testing.T) {
	g, err := guard.New(guard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	values := append(append([]byte(`{"query":{"terms":{"a":[`), bytes.Repeat([]byte("1,"), 100_000)...), "1]}}}"...)
	for name, q := range map[string]guard.Query{
		"it inflates":     {ContentEncoding: "gzip", Body: inflates(t, 4<<20)},
		"it has so much":  {Body: values},
		"a small one":     {Body: []byte(`{"size":10}`)},
		"small, unpacked": {ContentEncoding: "gzip", Body: inflates(t, 4<<10)},
	} {
		var v guard.Verdict
		q.Kind, q.Method, q.Path, q.Room = guard.Elasticsearch, "POST", "/x/_search", &share{of: &memory{limit: 1 << 20}}
		g.Check(&q, &v)
		if large := len(q.Body) > 4<<10 || name == "it inflates"; !large {
			if v.Verdict != guard.Accepted {
				t.Errorf("%s: %s: %v", name, v.Verdict, v.Findings)
			}
		} else if v.Verdict != guard.Rejected || v.Findings[0].Predictor != "body_bytes" {
			t.Errorf("%s: %s: %v", name, v.Verdict, v.Findings)
		}
	}
}
