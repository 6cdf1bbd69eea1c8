package kafka

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Who has a partition next runs only what has not ended, although the oldest record has
// not; and what it knows of that is not forgotten before it has read as far.
func TestWhatEndedBehindDoesNotRunAgain(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.cfg.MaxRecords = 20 // the next ones read a part
	const n = 60
	var all []*kgo.Record
	for i := range n {
		all = append(all, &kgo.Record{Value: fmt.Append(nil, i)})
	}
	c.produce(all...)
	left := map[string]bool{}
	for i := range n {
		left[fmt.Sprint(i)] = true
	}
	for round := range 3 {
		s := c.opened()
		for range 15 {
			for _, m := range take(t, s, 1) {
				if !left[string(m.Body)] {
					t.Errorf("round %d: %s runs again", round, m.Body)
				}
				if len(m.Body)%2 == 0 && m.Body[1] == '7' || string(m.Body) == "0" {
					continue // never ends
				}
				delete(left, string(m.Body))
				if err := s.Done(t.Context(), m); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.committed(0); n != 0 {
		t.Errorf("%d is committed, and 0 has not ended", n)
	}
}

// What is written is read as it was, or less of it.
func TestEndedIsReadAsWritten(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		from := r.Int64N(1 << 40)
		var all []span
		for at := from + 1 + r.Int64N(3); len(all) < 3000; {
			s := span{at, at + 1 + r.Int64N(200)}
			all, at = append(all, s), s.to+1+r.Int64N(200)
		}
		all = all[:r.IntN(len(all))]
		text := encodeEnded(all, from)
		got := decodeEnded(text, from)
		if len(text) > maxEnded || len(got) < min(len(all), 700) || !slices.Equal(got, all[:len(got)]) {
			t.Fatalf("of %d spans %d are read, from %d bytes", len(all), len(got), len(text))
		}
	}
}

func FuzzDecodeEnded(f *testing.F) {
	f.Add(encodeEnded([]span{{3, 5}, {9, 10}}, 1))
	f.Add(endedMark + "gICAgICAgICAAQ")
	f.Fuzz(func(t *testing.T, text string) {
		last := int64(7)
		for _, s := range decodeEnded(text, 7) {
			if s.from < last || s.to < s.from {
				t.Errorf("%v after %d", s, last)
			}
			last = s.to
		}
	})
}
