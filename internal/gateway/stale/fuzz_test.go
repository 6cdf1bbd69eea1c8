package stale_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/stale"
)

// Whatever upstreams write, what a plain reading forbids is not kept, and an
// answer is never shown for longer than it says.
func FuzzHeader(f *testing.F) {
	for _, seed := range [][2]string{
		{"no-store", ""},
		{"public, max-age=60", "Accept"},
		{`private="a,b"`, "*"},
		{`x="\"", s-maxage=5`, "a, ,b"},
		{"max-age=1,stale-if-error=99999999999999999999", "Accept-Encoding"},
		{"must-revalidate", "Origin,origin"},
		{`x="`, "a b"},
	} {
		f.Add(seed[0], seed[1], true)
	}
	f.Fuzz(func(t *testing.T, control, vary string, credentials bool) {
		a := stale.Answer{Status: 200, Credentials: credentials, Body: []byte("b"), Header: []stale.Field{{Name: "Cache-Control", Value: control}, {Name: "Vary", Value: vary}}}
		c := stale.New(stale.Config{})
		why := c.Put(key(1), a, start)
		if again := stale.New(stale.Config{}).Put(key(1), a, start); again != why {
			t.Fatalf("%v and then %v", why, again)
		}
		got, _, ok := c.Get(key(1), start, 0)
		if ok != (why == stale.Kept) || ok && !slices.Equal(got.Header, a.Header) {
			t.Fatalf("%v, but %v, %+v", why, ok, got)
		}
		if why != stale.Kept {
			return
		}
		if strings.Contains(vary, "*") || len(control) > 4<<10 {
			t.Fatalf("%q, vary %q: kept", control, vary)
		}
		if strings.ContainsAny(control, `"\`) {
			return // a plain reading does not do
		}
		limit, said := time.Duration(-1), false
		for part := range strings.SplitSeq(strings.ToLower(control), ",") {
			name, value, _ := strings.Cut(strings.Trim(part, " \t"), "=")
			switch name {
			case "no-store", "private", "no-cache":
				t.Fatalf("%q: kept", control)
			case "public", "must-revalidate":
				said = true
			case "s-maxage":
				said = true
				if n := len(strings.TrimLeft(value, "0")); n < 9 {
					limit = 100_000_000 * time.Second
				}
			}
		}
		if credentials && !said {
			t.Fatalf("%q: an answer to credentials is kept", control)
		}
		if _, _, ok := c.Get(key(1), start.Add(limit), 0); ok && limit >= 0 {
			t.Fatalf("%q: shown after %v", control, limit)
		}
	})
}
