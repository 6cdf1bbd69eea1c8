package redact_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/internal/control/redact"
)

func TestValuesOfRequestsInFlight(t *testing.T) {
	t.Parallel()
	v := new(redact.Values)
	h := v.Hold()
	h.AddCredentials("Bearer abc.def.ghi")
	h.AddCredentials("Basic " + "dXNlcjpvcGVuLXNlc2FtZQ==") // user:open-sesame
	v.Hold().AddCookies("theme=default; lang=german; sid=0123456789; PHPSESSID=correct-horse; id=4f2a-99b1-77c0; note=open%2Dsesame%2Dfor%2Dforty%2Dthieves", redact.NewNames(nil))
	h.AddCredentials("t%C3%BCr-und-tor")
	h.AddCredentials("user=somebody; sig=abcdef")
	h.Add("short")
	long := strings.Repeat("0123456789", 100)
	h.Add(long)
	for in, want := range map[string]string{
		"":                                "",
		"nothing":                         "nothing",
		"it is abc.def.ghi!":              "it is [redacted]!",
		"open-sesame":                     "[redacted]",
		"0123456789 of the default theme": "[redacted] of the default theme",
		"in german: correct-horse":        "in german: [redacted]",
		"4f2a-99b1-77c0":                  "[redacted]",
		"open-sesame-for-forty-thieves":   "[redacted]",
		"tür-und-tor":                     "[redacted]",
		"t%C3%BCr-und-tor abc.def.ghi":    "[redacted] [redacted]",
		"abcdef of somebody":              "[redacted] of [redacted]",
		"short abc.de":                    "short abc.de",
		"<" + long + "abc goes on":        "<[redacted] goes on",
	} {
		if got := string(v.Hide([]byte(in))); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	h.End()
	if got := string(v.Hide([]byte("abc.def.ghi"))); got != "[redacted]" {
		t.Errorf("just after its request the value is shown: %q", got)
	}
	for range 256 {
		v.Hold().End()
	}
	if got := string(v.Hide([]byte("abc.def.ghi"))); got != "abc.def.ghi" {
		t.Errorf("256 requests later the value is not forgotten: %q", got)
	}
	if got := (*redact.Values)(nil).Hide([]byte("x")); string(got) != "x" {
		t.Errorf("without values %q", got)
	}
}

func TestValuesAreAllThatIsHidden(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ab]{6,9}`)
		secrets := rapid.SliceOfN(word, 0, 40).Draw(t, "secrets")
		v := redact.Known(secrets...)
		line := strings.Join(rapid.SliceOf(word).Draw(t, "words"), rapid.SampledFrom([]string{"", " ", "a"}).Draw(t, "between"))
		got := string(v.Hide([]byte(line)))
		rest := line
		for part := range strings.SplitSeq(got, "[redacted]") {
			_, after, ok := strings.Cut(rest, part)
			if !ok {
				t.Fatalf("%q became %q", line, got)
			}
			rest = after
		}
		for _, s := range secrets {
			if strings.Contains(got, s) {
				t.Fatalf("%q became %q, which has %q", line, got, s)
			}
		}
		if len(secrets) == 0 && got != line {
			t.Fatalf("%q became %q without a secret", line, got)
		}
	})
}

func BenchmarkValues(b *testing.B) {
	v := new(redact.Values)
	for i := range 200 {
		h := v.Hold()
		h.AddCredentials(fmt.Sprintf("Bearer %032d", i))
	}
	b.Run("request", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			h := v.Hold()
			h.AddCredentials("Bearer 0123456789012345678901234567890123456789")
			h.End()
		}
	})
	line := []byte(strings.Repeat("2026-01-01 12:00:00 INFO served /search in 3 ms ", 2))
	b.Run("line of 96 bytes", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v.Hide(line)
		}
	})
}

func BenchmarkNames(b *testing.B) {
	names := []string{"Accept", "Accept-Encoding", "Accept-Language", "Cache-Control", "Referer", "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site", "User-Agent", "X-Request-Start"}
	n := redact.NewNames(nil)
	b.ReportAllocs()
	for b.Loop() {
		for _, name := range names {
			n.Secret(name)
		}
	}
}
