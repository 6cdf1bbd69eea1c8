package hints

import (
	"bytes"
	"compress/gzip"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
)

const (
	visitors = `{"size":0,"aggs":{"u":{"cardinality":{"field":"user"}}}}`
	counted  = `{"took":7,"timed_out":true,"_shards":{"total":2,"failed":1,"failures":[{"reason":{"type":"circuit_breaking_exception"}}]},"aggregations":{"u":{"value":300000}}}`
	refused  = `{"error":{"type":"circuit_breaking_exception","reason":"[parent] Data too large"},"status":429}`
)

func zip(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// listener gathers what a Learner tells.
type listener struct {
	mu  sync.Mutex // guards all
	all []guard.Observation
}

func (l *listener) tell(o guard.Observation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, o)
}

func (l *listener) told() []guard.Observation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// learning runs a Learner until the test ends, and gathers what it tells.
func learning(t *testing.T, store Store) (*Learner, *listener) {
	t.Helper()
	heard := new(listener)
	l, err := NewLearner(LearnConfig{Store: store, Tell: heard.tell})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l, heard
}

// pass has a Learner see an answer in pieces of so many bytes.
func pass(l *Learner, n *Note, answer string, piece int) bool {
	note := l.Note()
	if note == nil {
		return false
	}
	_, _ = note.Write([]byte("of an attempt that failed"))
	note.Reset()
	note.Path, note.Body, note.Status, note.Packing, note.Observation = n.Path, n.Body, n.Status, n.Packing, n.Observation
	for len(answer) > 0 {
		k := min(piece, len(answer))
		_, _ = note.Write([]byte(answer[:k]))
		answer = answer[k:]
	}
	l.Submit(note)
	return true
}

func TestNotesAreRead(t *testing.T) {
	says := guard.Told{Took: 7 * time.Millisecond, TimedOut: true, Partial: true, Tripped: true}
	long := counted[:len(counted)-2] + `,"x":"` + strings.Repeat("v", 3*MaxHead) + `"}}`
	for _, c := range []struct {
		name, path string
		packing    Packing
		answer     string
		status     int
		want       *guard.Told
		learned    float64
	}{
		{"plain", "/shop/_search", Plain, counted, 200, &says, 300_000},
		{"packed", "/shop/_search", Gzip, zip(counted), 200, &says, 300_000},
		{"packed and long", "/shop/_search", Gzip, zip(long), 200, &says, 300_000},
		{"packed as br", "/shop/_search", Brotli, string(pack(t, Brotli, []byte(long))), 200, &says, 300_000},
		{"packed as zstd", "/shop/_search", Zstd, string(pack(t, Zstd, []byte(long))), 200, &says, 300_000},
		{"packed as deflate", "/shop/_search", Deflate, string(pack(t, Deflate, []byte(long))), 200, &says, 300_000},
		{"packed as br, and called zstd", "/shop/_search", Zstd, string(pack(t, Brotli, []byte(counted))), 200, nil, 0},
		{"cut off while packed", "/shop/_search", Gzip, zip(counted)[:len(zip(counted))-9], 200, &says, 300_000},
		{"packed in a way that is not read", "/shop/_search", Unknown, counted, 200, nil, 0},
		{"not packed, though it says so", "/shop/_search", Gzip, counted, 200, nil, 0},
		{"of a pattern", "/shop*/_search", Plain, counted, 200, &says, 0},
		{"of a template", "/shop/_search/template", Plain, counted, 200, &says, 0},
		{"of an old type", "/shop/doc/_search", Plain, counted, 200, &says, 0},
		{"refused by a breaker", "/shop/_search", Plain, refused, 429, &guard.Told{Tripped: true}, 0},
		{"refused by a breaker, packed", "/shop/_search", Gzip, zip(refused), 503, &guard.Told{Tripped: true}, 0},
		{"bad", "/shop/_search", Plain, `{"error":{"type":"parsing_exception"}}`, 400, nil, 0},
		{"bad, though it has values", "/shop/_search", Plain, counted, 404, &guard.Told{Tripped: true}, 0},
		{"empty", "/shop/_search", Plain, "", 200, nil, 0},
		{"of a count", "/shop/_count", Plain, `{"count":5,"_shards":{"failed":1}}`, 200, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &guard.HintStore{}
				l, heard := learning(t, store)
				pass(l, &Note{Path: c.path, Body: []byte(visitors), Status: c.status, Packing: c.packing, Observation: guard.Observation{Shape: 5, Bytes: 9}}, c.answer, 1000)
				time.Sleep(2 * time.Minute)
				told := heard.told()
				if len(told) != 1 {
					t.Fatalf("%d were told", len(told))
				}
				o := told[0]
				if o.Shape != 5 || o.Bytes != 9 || (o.Told == nil) != (c.want == nil) || o.Told != nil && *o.Told != *c.want {
					t.Errorf("%+v, %+v, want %+v", o, o.Told, c.want)
				}
				if f, _ := store.Field("shop", "user"); f.Cardinality != c.learned {
					t.Errorf("%+v", f)
				}
			})
		})
	}
}

// Of more answers than there is time to read, some are left alone, and no caller
// waits.
func TestNotesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, heard := learning(t, &guard.HintStore{})
		var held []*Note
		for range MaxNotes {
			held = append(held, l.Note())
		}
		if l.Note() != nil {
			t.Error("one note too many")
		}
		for _, n := range held[1:] {
			l.Submit(n)
		}
		l.Drop(held[0])
		time.Sleep(time.Second)
		if n := len(heard.told()); n != MaxNotes-1 {
			t.Errorf("%d were told", n)
		}
		if s := l.Status(); s.Missed != 1 || s.Read != MaxNotes-1 {
			t.Errorf("%+v", s)
		}
		for range MaxNotes {
			if !pass(l, &Note{Status: 200}, counted, 100) {
				t.Fatal("notes were lost")
			}
		}
	})
}

// What is seen again keeps young; what is not grows old.
func TestWhatIsSeenAgainStaysYoung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &guard.HintStore{}
		l, _ := learning(t, store)
		see := func() {
			pass(l, &Note{Path: "/shop/_search", Body: []byte(visitors), Status: 200}, counted, 100)
		}
		see()
		time.Sleep(time.Hour)
		if age := store.Age(); age < 58*time.Minute {
			t.Errorf("not seen for an hour, and %v old", age)
		}
		see()
		time.Sleep(2 * time.Minute)
		if age := store.Age(); age > 2*time.Minute {
			t.Errorf("seen again, and %v old", age)
		}
		if s := l.Status(); s.Fields != 1 || s.Told.IsZero() || s.Read != 2 {
			t.Errorf("%+v", s)
		}
	})
}

// BenchmarkNote is what a caller's goroutine does for an answer, and what Run does.
func BenchmarkNote(b *testing.B) {
	long := counted[:len(counted)-2] + `,"x":"` + strings.Repeat("v", 2*MaxHead) + `"}}`
	for name, c := range map[string]struct {
		packing Packing
		answer  string
	}{
		"short": {Plain, counted}, "short-gzip": {Gzip, zip(counted)}, "long": {Plain, long},
		"short-br": {Brotli, string(pack(b, Brotli, []byte(counted)))}, "short-zstd": {Zstd, string(pack(b, Zstd, []byte(counted)))},
		"many-buckets": {Plain, `{"took":5,"aggregations":{"u":{"buckets":[` + strings.Repeat(`{"key":"some value","doc_count":123456},`, 2000) + `{}]}}}`},
	} {
		b.Run(name, func(b *testing.B) {
			l, err := NewLearner(LearnConfig{Store: &guard.HintStore{}})
			if err != nil {
				b.Fatal(err)
			}
			n := &Note{Path: "/shop/_search", Body: []byte(visitors), Status: 200, Packing: c.packing}
			b.Run("write", func(b *testing.B) {
				for b.Loop() {
					note := l.Note()
					_, _ = note.Write([]byte(c.answer))
					l.Drop(note)
				}
			})
			b.Run("read", func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(min(len(c.answer), MaxHead)))
				for b.Loop() {
					pass(l, n, c.answer, 1<<20)
					l.look(<-l.notes)
				}
			})
		})
	}
}
