package stale_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/stale"
)

var start = time.Unix(1_000_000, 0)

func key(n int) (k [16]byte) {
	k[0], k[1], k[2] = byte(n), byte(n>>8), byte(n>>16)
	return k
}

// answer reads a header written as lines.
func answer(status int, header, body string) stale.Answer {
	a := stale.Answer{Status: status, Body: []byte(body)}
	for line := range strings.Lines(header) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ": ")
		a.Header = append(a.Header, stale.Field{Name: name, Value: value})
	}
	return a
}

const never = time.Duration(-1)

func TestWhatMayBeKeptAndForHowLong(t *testing.T) {
	const forever = 1000 * 24 * time.Hour
	for _, tc := range []struct {
		name   string
		status int
		header string
		want   stale.Reason
		limit  time.Duration // the age up to which it is shown
	}{
		{"nothing said", 200, "", stale.Kept, forever},
		{"other good ones", 404, "", stale.Kept, forever},
		{"gone", 410, "", stale.Kept, forever},
		{"moved", 308, "Location: /x", stale.Kept, forever},
		{"moved for now", 302, "Location: /x", stale.Status, never},
		{"an error", 503, "", stale.Status, never},
		{"a piece", 206, "Content-Range: bytes 0-3/10", stale.Status, never},
		{"a piece that says 200", 200, "Content-Range: bytes 0-3/10", stale.Partial, never},
		{"not modified", 304, "", stale.Status, never},

		{"a lifetime alone forbids nothing", 200, "Cache-Control: max-age=60", stale.Kept, forever},
		{"no-store", 200, "Cache-Control: public, no-store", stale.NoStore, never},
		{"no-store in other letters", 200, "CACHE-CONTROL: max-age=1,No-Store", stale.NoStore, never},
		{"on a second line", 200, "Cache-Control: public\ncache-control: private", stale.Private, never},
		{"private with a list", 200, `Cache-Control: private="x, y"`, stale.Private, never},
		{"no-cache", 200, "Cache-Control: no-cache", stale.Revalidate, never},
		{"no-cache with a list", 200, `Cache-Control: no-cache="set-cookie"`, stale.Revalidate, never},
		{"must-revalidate without a lifetime", 200, "Cache-Control: must-revalidate", stale.Revalidate, never},
		{"must-revalidate while fresh", 200, "Cache-Control: must-revalidate, max-age=60", stale.Kept, time.Minute},
		{"proxy-revalidate while fresh", 200, "Cache-Control: proxy-revalidate, max-age=60", stale.Kept, time.Minute},
		{"s-maxage while fresh", 200, "Cache-Control: max-age=600, s-maxage=60", stale.Kept, time.Minute},
		{"s-maxage=0", 200, "Cache-Control: s-maxage=0", stale.Revalidate, never},
		{"stale-if-error", 200, "Cache-Control: max-age=60, stale-if-error=30", stale.Kept, 90 * time.Second},
		{"stale-if-error without a lifetime", 200, "Cache-Control: stale-if-error=30", stale.Kept, 30 * time.Second},
		{"stale-if-error does not lift must-revalidate", 200, "Cache-Control: max-age=60, stale-if-error=30, must-revalidate", stale.Kept, time.Minute},
		{"the stricter of two", 200, "Cache-Control: s-maxage=60\nCache-Control: s-maxage=30", stale.Kept, 30 * time.Second},
		{"quoted", 200, `Cache-Control: s-maxage="60"`, stale.Kept, time.Minute},
		{"a number that is none", 200, "Cache-Control: s-maxage=-1", stale.Revalidate, never},
		{"a number without end", 200, "Cache-Control: s-maxage=99999999999999999999999999", stale.Kept, 1 << 31 * time.Second},
		{"empty members and unknown ones", 200, `Cache-Control: , ,immutable, x="a,\"no-store", y=1,`, stale.Kept, forever},
		{"a quote without end", 200, `Cache-Control: x="no-store`, stale.Unreadable, never},
		{"no comma", 200, "Cache-Control: public no-store", stale.Unreadable, never},
		{"no value", 200, "Cache-Control: max-age=", stale.Unreadable, never},
		{"no name", 200, "Cache-Control: =1", stale.Unreadable, never},
		{"too long", 200, "Cache-Control: " + strings.Repeat("x,", 2049), stale.Unreadable, never},

		{"a cookie", 200, "set-cookie: a=b", stale.SetCookie, never},
		{"varies on the key", 200, "Vary: accept-ENCODING ,, Origin", stale.Kept, forever},
		{"varies on more", 200, "Vary: Accept-Encoding, X-User", stale.Vary, never},
		{"varies on a second line", 200, "Vary: Accept\nVary: Cookie", stale.Vary, never},
		{"varies on anything", 200, "Vary: *", stale.Vary, never},
		{"varies on what cannot be read", 200, "Vary: a b", stale.Unreadable, never},

		{"old already", 200, "Age: 50\nCache-Control: s-maxage=60", stale.Kept, 10 * time.Second},
		{"too old already", 200, "Age: 61\nCache-Control: s-maxage=60", stale.Revalidate, never},
		{"all of it", 200, "Content-Length: 4", stale.Kept, forever},
		{"too short", 200, "Content-Length: 5", stale.Partial, never},
		{"too long a body", 200, "Content-Length: 3", stale.Partial, never},
		{"two lengths", 200, "Content-Length: 4\nContent-Length: 5", stale.Partial, never},
		{"a bad length", 200, "Content-Length: +4", stale.Partial, never},
		{"too many fields", 200, strings.Repeat("X: y\n", 257), stale.TooLarge, never},
		{"too much text", 200, "X: " + strings.Repeat("y", 64<<10), stale.TooLarge, never},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := stale.New(stale.Config{})
			if got := c.Put(key(1), answer(tc.status, tc.header, "body"), start); got != tc.want {
				t.Fatalf("put: %v, want %v", got, tc.want)
			}
			if _, _, ok := c.Get(key(1), start.Add(max(tc.limit, 0)), 0); ok != (tc.limit != never) {
				t.Errorf("at %v shown: %v", tc.limit, ok)
			}
			if tc.limit == never {
				if s := c.Stats(); s.Refused[tc.want.String()] != 1 || s.Entries != 0 || s.Recording != 0 {
					t.Errorf("%+v", s)
				}
			} else if tc.limit < forever {
				if _, _, ok := c.Get(key(1), start.Add(tc.limit+1), 0); ok {
					t.Errorf("after %v still shown", tc.limit)
				}
			}
		})
	}
}

func TestAnswersToCredentialsAreKeptOnlyIfPublic(t *testing.T) {
	for header, want := range map[string]stale.Reason{
		"":                              stale.Credentials,
		"Cache-Control: max-age=60":     stale.Credentials,
		"Cache-Control: public":         stale.Kept,
		"Cache-Control: s-maxage=60":    stale.Kept,
		"Cache-Control: public,private": stale.Private,
		"Cache-Control: must-revalidate, max-age=60":  stale.Kept,
		"Cache-Control: proxy-revalidate, max-age=60": stale.Credentials,
	} {
		a := answer(200, header, "")
		a.Credentials = true
		c := stale.New(stale.Config{})
		if got := c.Put(key(1), a, start); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
		if got, _, ok := c.Get(key(1), start, 0); ok && got.Credentials {
			t.Errorf("%q: that there were credentials is kept", header)
		}
	}
}

func TestWhatBelongsToAConnectionIsLeftOut(t *testing.T) {
	c := stale.New(stale.Config{})
	head := []byte("Content-Type: text/plain\nConnection: close, X-Hop\nX-Hop: 1\nAge: 3\nKeep-Alive: x\nTransfer-Encoding: chunked\nContent-Length: 2\nETag: \"v\"\nTE: x\nDate: d")
	a := answer(200, string(head), "ok")
	if why := c.Put(key(1), a, start); why != stale.Kept {
		t.Fatal(why)
	}
	for i := range a.Header { // the caller's buffers are the caller's
		a.Header[i] = stale.Field{}
	}
	copy(a.Body, "XX")
	got, age, ok := c.Get(key(1), start.Add(time.Second), 0)
	if !ok || string(got.Body) != "ok" || age != 4*time.Second || got.Status != 200 {
		t.Errorf("got %+v, age %v, %v", got, age, ok)
	}
	var names []string
	for _, f := range got.Header {
		names = append(names, f.Name+"="+f.Value)
	}
	if s := strings.Join(names, " "); s != `Content-Type=text/plain ETag="v" Date=d` {
		t.Errorf("kept %s", s)
	}
}

func TestVaryIsPartOfTheKey(t *testing.T) {
	c := stale.New(stale.Config{Vary: []string{"Accept", "X-Plan"}})
	of := func(header map[string]string) string {
		return string(c.AppendVary([]byte("k"), func(name string) string { return header[name] }))
	}
	same := of(map[string]string{"Accept": " a\t", "Origin": "x"})
	if same != of(map[string]string{"Accept": "a"}) || same != "k\x01a\x00" {
		t.Errorf("%q", same)
	}
	for _, other := range []map[string]string{{"Accept": "b"}, {"X-Plan": "a"}, {}, {"Accept": "a", "X-Plan": "a"}} {
		if of(other) == same {
			t.Errorf("%v has the same key", other)
		}
	}
	if why := c.Put(key(1), answer(200, "Vary: x-plan", ""), start); why != stale.Kept {
		t.Error(why)
	}
	if why := c.Put(key(1), answer(200, "Vary: Accept-Encoding", ""), start); why != stale.Vary {
		t.Error(why)
	}
}

func TestReasonsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for r := stale.Kept; r <= stale.Older; r++ {
		if name := r.String(); name == "" || seen[name] || strings.HasPrefix(name, "reason(") {
			t.Errorf("%d is called %q", r, name)
		}
		seen[r.String()] = true
	}
	if s := stale.Reason(200).String(); s != "reason(200)" {
		t.Error(s)
	}
}

func TestConfigIsChecked(t *testing.T) {
	err := stale.Config{MaxBytes: -1, MaxEntry: -1, MaxEntries: -1, Vary: []string{"Cookie", "*", "a b"}}.Validate()
	for _, want := range []string{"MaxBytes is -1", "MaxEntry is -1", "MaxEntries is -1", "names Cookie", `names "*"`, `names "a b"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	for _, good := range []stale.Config{{}, {MaxBytes: 100}} {
		if err := good.Validate(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	if (stale.Config{MaxBytes: 10, MaxEntry: 11}).Validate() == nil {
		t.Error("an entry larger than the cache is accepted")
	}
	if why := stale.New(stale.Config{MaxBytes: -1}).Put(key(1), answer(200, "", "x"), start); why != stale.Kept {
		t.Errorf("with a bad config: %v", why)
	}
}
