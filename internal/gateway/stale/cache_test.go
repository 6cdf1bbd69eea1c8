package stale_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/internal/gateway/stale"
)

func put(t testing.TB, c *stale.Cache, n int, body string) {
	t.Helper()
	if why := c.Put(key(n), answer(200, "", body), start); why != stale.Kept {
		t.Fatalf("put %d: %v", n, why)
	}
}

func has(c *stale.Cache, n int) bool {
	_, _, ok := c.Get(key(n), start, 0)
	return ok
}

func TestAgesAreBoundedByTheCaller(t *testing.T) {
	c := stale.New(stale.Config{})
	put(t, c, 1, "x")
	for _, tc := range []struct {
		at, max time.Duration
		want    bool
	}{{time.Minute, time.Minute, true}, {time.Minute + 1, time.Minute, false}, {time.Hour, 0, true}, {-time.Hour, time.Minute, true}} {
		_, age, ok := c.Get(key(1), start.Add(tc.at), tc.max)
		if ok != tc.want || ok && age != max(tc.at, 0) {
			t.Errorf("%+v: %v, age %v", tc, ok, age)
		}
	}
	if has(c, 2) {
		t.Error("a key that nobody put is there")
	}
	if s := c.Stats(); s.Hits != 3 || s.Misses != 2 || s.Entries != 1 {
		t.Errorf("%+v", s)
	}
}

func TestANewerAnswerReplacesAnOlder(t *testing.T) {
	c := stale.New(stale.Config{})
	put(t, c, 1, "one")
	if why := c.Put(key(1), answer(404, "", "two"), start.Add(time.Second)); why != stale.Kept {
		t.Fatal(why)
	}
	if why := c.Put(key(1), answer(200, "", "late"), start); why != stale.Older {
		t.Errorf("the older came later: %v", why)
	}
	got, _, _ := c.Get(key(1), start, 0)
	if got.Status != 404 || string(got.Body) != "two" || c.Stats().Entries != 1 || c.Stats().Recording != 0 {
		t.Errorf("%+v, %+v", got, c.Stats())
	}
}

// What is used stays, what only passed by goes: a crawler does not empty the
// cache.
func TestUsedAnswersSurviveAFlood(t *testing.T) {
	c := stale.New(stale.Config{MaxEntries: 100})
	for i := range 50 {
		put(t, c, i, "used")
	}
	for i := range 10_000 {
		put(t, c, 1000+i, "once")
		if i%40 == 0 {
			for n := range 25 {
				has(c, n)                // shown, or
				put(t, c, 25+n, "again") // recorded again
			}
		}
	}
	left := 0
	for n := range 50 {
		if has(c, n) {
			left++
		}
	}
	if s := c.Stats(); left != 50 || s.Entries != 100 || s.Evicted != 10_000+50-100 {
		t.Errorf("%d of 50 are left, %+v", left, s)
	}
}

// Whatever is put, the bounds hold, the queue and the map agree, and what is
// there is what was put last.
func TestTheBoundsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const maxBytes, maxEntries = 8 << 10, 12
		c := stale.New(stale.Config{MaxBytes: maxBytes, MaxEntry: 2 << 10, MaxEntries: maxEntries})
		last := map[int]string{}
		kept := 0
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				n, size := rapid.IntRange(0, 20).Draw(t, "key"), rapid.IntRange(0, 3000).Draw(t, "size")
				body := strings.Repeat(fmt.Sprint(kept%10), size)
				want := stale.Kept
				if size > 2<<10 {
					want = stale.TooLarge
				}
				if why := c.Put(key(n), answer(200, "A: b", body), start); why != want {
					t.Fatalf("%v, want %v", why, want)
				}
				if want == stale.Kept {
					kept++
					last[n] = body
					if !has(c, n) {
						t.Fatal("what was put is not there")
					}
				}
			},
			"get": func(t *rapid.T) {
				n := rapid.IntRange(0, 20).Draw(t, "key")
				if a, _, ok := c.Get(key(n), start, 0); ok && string(a.Body) != last[n] {
					t.Fatalf("%d has %q, want %q", n, a.Body, last[n])
				}
			},
			"": func(t *rapid.T) {
				s := c.Stats()
				if s.Bytes > maxBytes || s.Entries > maxEntries || s.Recording != 0 {
					t.Fatalf("%+v", s)
				}
				there, bytes := 0, int64(0)
				for n := range 21 {
					if a, _, ok := c.Get(key(n), start, 0); ok {
						there++
						bytes += int64(len(a.Body)) + 256 + 2 + 32
					}
				}
				if there != s.Entries || bytes != s.Bytes {
					t.Fatalf("%d answers of %d bytes are there: %+v", there, bytes, s)
				}
			},
		})
	})
}

func TestAnAnswerLargerThanAllIsRefused(t *testing.T) {
	c := stale.New(stale.Config{MaxBytes: 300, MaxEntry: 300})
	put(t, c, 1, "small")
	if why := c.Put(key(2), answer(200, "", strings.Repeat("x", 100)), start); why != stale.TooLarge {
		t.Error(why)
	}
	if !has(c, 1) {
		t.Error("what cannot be kept made something go")
	}
}

func record(c *stale.Cache, n int, header string, now time.Time) stale.Recorder {
	return c.Record(key(n), answer(200, header, ""), now)
}

func write(t *testing.T, r *stale.Recorder, pieces ...string) {
	t.Helper()
	for _, p := range pieces {
		if n, err := r.Write([]byte(p)); n != len(p) || err != nil {
			t.Fatalf("write: %d, %v", n, err)
		}
	}
}

func TestAnAnswerIsRecordedAsItPasses(t *testing.T) {
	for _, header := range []string{"", "Content-Length: 15000"} {
		c := stale.New(stale.Config{MaxEntry: 20_000})
		r := record(c, 1, header, start)
		for i := range 1000 {
			write(t, &r, fmt.Sprintf("%013d\r\n", i))
		}
		if has(c, 1) || c.Stats().Recording < 15_000 {
			t.Errorf("before it is whole: %+v", c.Stats())
		}
		if why := r.Commit(start); why != stale.Kept {
			t.Error(why)
		}
		r.Discard()
		a, _, ok := c.Get(key(1), start, 0)
		if !ok || len(a.Body) != 15_000 || cap(a.Body) != len(a.Body) || !bytes.HasSuffix(a.Body, []byte("0999\r\n")) {
			t.Errorf("got %d bytes (%d)", len(a.Body), cap(a.Body))
		}
		if s := c.Stats(); s.Recording != 0 || s.Bytes < 15_000 {
			t.Errorf("%+v", s)
		}
		if why := r.Commit(start); why != stale.Kept && why != stale.Older {
			t.Errorf("again: %v", why)
		}
	}
}

func TestARecorderGivesUp(t *testing.T) {
	half := strings.Repeat("x", 600)
	for name, tc := range map[string]struct {
		header string
		pieces []string
		want   stale.Reason
	}{
		"beyond the limit":     {"", []string{half, half}, stale.TooLarge},
		"a length beyond it":   {"Content-Length: 1001", []string{half}, stale.TooLarge},
		"less than was said":   {"Content-Length: 700", []string{half}, stale.Partial},
		"nothing at all":       {"Content-Length: 700", nil, stale.Partial},
		"more than was said":   {"Content-Length: 700", []string{half, half}, stale.Partial},
		"what must not be":     {"Cache-Control: no-store", []string{half}, stale.NoStore},
		"an empty one is fine": {"Content-Length: 0", nil, stale.Kept},
	} {
		c := stale.New(stale.Config{MaxEntry: 1000})
		r := record(c, 1, tc.header, start)
		write(t, &r, tc.pieces...)
		if why := r.Commit(start); why != tc.want {
			t.Errorf("%s: %v, want %v", name, why, tc.want)
		}
		if why := r.Commit(start); tc.want != stale.Kept && why != tc.want {
			t.Errorf("%s, again: %v", name, why)
		}
		if s := c.Stats(); s.Recording != 0 || (s.Entries == 1) != (tc.want == stale.Kept) || tc.want != stale.Kept && s.Refused[tc.want.String()] != 1 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	var none stale.Recorder
	write(t, &none, "x")
	if why := none.Commit(start); why != stale.Older {
		t.Errorf("the zero Recorder: %v", why)
	}
	none.Discard()
}

func TestAnAnswerThatBreaksIsNotKept(t *testing.T) {
	c := stale.New(stale.Config{})
	put(t, c, 1, "good")
	r := record(c, 1, "", start.Add(time.Minute))
	write(t, &r, "half")
	r.Discard()
	if why := r.Commit(start); why == stale.Kept {
		t.Error("it was kept")
	}
	if a, _, ok := c.Get(key(1), start, 0); !ok || string(a.Body) != "good" || c.Stats().Recording != 0 {
		t.Errorf("%q, %+v", a.Body, c.Stats())
	}
}

func TestAFreshCopyIsNotRecordedAgain(t *testing.T) {
	for _, tc := range []struct {
		refresh, after time.Duration
		want           stale.Reason
	}{{0, 999 * time.Millisecond, stale.Older}, {0, time.Second, stale.Kept}, {-1, 0, stale.Kept}, {time.Minute, 59 * time.Second, stale.Older}} {
		c := stale.New(stale.Config{Refresh: tc.refresh})
		put(t, c, 1, "one")
		r := record(c, 1, "", start.Add(tc.after))
		write(t, &r, "two")
		if why := r.Commit(start.Add(tc.after)); why != tc.want {
			t.Errorf("%+v: %v", tc, why)
		}
	}
}

// What is on its way is bounded too: slow answers cannot fill the memory.
func TestRecordersShareABound(t *testing.T) {
	c := stale.New(stale.Config{MaxBytes: 64 << 10, MaxEntry: 8 << 10})
	var all []*stale.Recorder
	for i := range 100 {
		r := record(c, i, "", start)
		write(t, &r, strings.Repeat("x", 8<<10))
		all = append(all, &r)
	}
	if s := c.Stats(); s.Recording != 16<<10 || s.Refused["busy"] != 98 {
		t.Errorf("%+v", s)
	}
	for i, r := range all {
		want := stale.Busy
		if i < 2 {
			want = stale.Kept
		}
		if why := r.Commit(start); why != want {
			t.Errorf("%d: %v", i, why)
		}
	}
	r := record(c, 100, "", start)
	write(t, &r, "x")
	if why := r.Commit(start); why != stale.Kept {
		t.Errorf("with room again: %v", why)
	}
}

func TestTogether(t *testing.T) {
	c := stale.New(stale.Config{MaxBytes: 64 << 10, MaxEntry: 4 << 10, Refresh: -1})
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 2000 {
				n := (g*31 + i) % 40
				at := start.Add(time.Duration(i) * time.Millisecond)
				r := record(c, n, "", at)
				r.Write(bytes.Repeat([]byte{byte(n)}, 1+i%3000))
				if i%5 == 0 {
					r.Discard()
				}
				r.Commit(at)
				if a, _, ok := c.Get(key(n), at, 0); ok && (len(a.Body) == 0 || bytes.Count(a.Body, []byte{byte(n)}) != len(a.Body)) {
					t.Errorf("%d has another's body", n)
				}
				c.Stats()
			}
		})
	}
	all.Wait()
	if s := c.Stats(); s.Recording != 0 || s.Bytes > 64<<10 {
		t.Errorf("%+v", s)
	}
}

func TestRefusalsAndReadsAllocateNothing(t *testing.T) {
	c := stale.New(stale.Config{})
	put(t, c, 1, "x")
	private := answer(200, "Content-Type: a\nVary: Accept-Encoding\nETag: x\nCache-Control: max-age=0, private\nContent-Length: 5", "")
	fresh := answer(200, "", "")
	for name, f := range map[string]func(){
		"get":     func() { c.Get(key(1), start, 0) },
		"private": func() { r := c.Record(key(2), private, start); r.Commit(start) },
		"fresh":   func() { r := c.Record(key(1), fresh, start); r.Commit(start) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
