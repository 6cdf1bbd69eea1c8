package lastrun

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

const stackText = `goroutine 19 gp=0xc000 m=0 mp=0x55ed20 [running, locked to thread]:
panic({0x4962a0?, 0x4b7d10?})
	/usr/local/go/src/runtime/panic.go:860 +0x13a
example.com/a.(*Job).Send(0xc000012345, {0xdeadbeef, 0x7365637265740000})
	/home/me/a/job.go:12 +0x56 fp=0x7ffe sp=0x7ffd pc=0x1
example.com/a.Map[...].func1(...)
	/home/me/a/map.go:7
...12 frames elided...
created by example.com/a.(*Server).Serve in goroutine 7
	/home/me/a/serve.go:25 +0x265

goroutine 1 [sleep]:
time.Sleep(0xdf8475800)
`

func TestParse(t *testing.T) {
	t.Parallel()
	calls := []string{"panic", "example.com/a.(*Job).Send", "example.com/a.Map[...].func1", "example.com/a.(*Server).Serve"}
	frames := []string{"example.com/a.(*Job).Send (job.go:12)", "example.com/a.Map[...].func1 (map.go:7)", "example.com/a.(*Server).Serve (serve.go:25)"}
	for _, tc := range []struct {
		name, text string
		kind       kind
		line       string
		more       []string // lines between it and the frames
		bare       bool     // no frames
	}{
		{name: "a panic", text: "panic: boom\n\n" + stackText, kind: panicked, line: "panic: boom"},
		{name: "of many lines", text: "panic: boom\n\tpanic: again\n\tc\n\td\n\te\n\n" + stackText, kind: panicked, line: "panic: boom", more: []string{"panic: again", "c", "d"}},
		{name: "of a signal", text: "panic: runtime error: nil\n[signal SIGSEGV: segmentation violation code=0x1]\n\n" + stackText, kind: panicked, line: "panic: runtime error: nil", more: []string{"[signal SIGSEGV: segmentation violation code=0x1]"}},
		{name: "with a warning before", text: "runtime: something\n\npanic: boom\n" + stackText, kind: panicked, line: "panic: boom"},
		{name: "a fatal error with words", text: "runtime: goroutine stack exceeds 1000000000-byte limit\nfatal error: stack overflow\n\nruntime stack:\nruntime.throw({0x1})\n\t/x/panic.go:1 +0x48\n\n" + stackText, kind: panicked, line: "fatal error: stack overflow"},
		{name: "no memory, with words", text: "runtime: out of memory: cannot allocate 4096-byte block\nfatal error: out of memory\n\n" + stackText, kind: exhausted, line: "fatal error: out of memory"},
		{name: "a fatal error without words", text: "\n" + stackText, kind: panicked, line: "fatal error in example.com/a.(*Job).Send (job.go:12)"},
		{name: "no memory, without words", text: "\nruntime stack:\nruntime.throw({0x1})\n\t/x/panic.go:1 +0x48\nruntime.sysMapOS(0x1, 0x2)\n\t/x/mem.go:1 +0x1\n\n" + stackText, kind: exhausted, line: "fatal error: out of memory in example.com/a.(*Job).Send (job.go:12)"},
		{name: "only the runtime's stack", text: "\nruntime stack:\nruntime.throw({0x1})\n\t/x/panic.go:1 +0x48\n", kind: panicked, line: "fatal error", bare: true},
		{name: "without a stack", text: "panic: boom\n", kind: panicked, line: "panic: boom", bare: true},
		{name: "cut off", text: "panic: boom\n\ngoroutine 19 [runn", kind: panicked, line: "panic: boom", more: []string{"goroutine 19 [runn"}, bare: true},
		{name: "a secret", text: "panic: GET /: Cookie: id=hush; b=c\n\ttoken=hush\n\n" + stackText, kind: panicked, line: "panic: GET /: Cookie: [redacted]", more: []string{"token=[redacted]"}},
		{name: "asked for by a signal", text: "SIGQUIT: quit\nPC=0x40816e m=0 sigcode=0\n\n" + stackText, kind: signalled, line: "SIGQUIT: quit", bare: true},
		{name: "a heading and no more", text: "\ngoroutine 1 [running]:\n", kind: unreadable},
		{name: "all goroutines asleep", text: "\ngoroutine 1 [select (no cases)]:\nmain.main()\n\t/tmp/main.go:49 +0x2ea\n", kind: unreadable},
		{name: "late", text: strings.Repeat("x\n", maxBefore) + "panic: boom\n", kind: unreadable},
		{name: "SIG and words", text: "SIGNIFICANT trouble: no\nSig: no\n", kind: unreadable},
		{name: "nothing", text: "", kind: unreadable},
	} {
		tr := parse([]byte(tc.text), scrubber(nil))
		want := trace{kind: tc.kind, line: tc.line}
		if tc.kind != unreadable {
			want.lines = append([]string{tc.line}, tc.more...)
			if !tc.bare {
				want.calls, want.lines = calls, append(want.lines, frames...)
			}
		}
		if tr.kind != want.kind || tr.line != want.line || !slices.Equal(tr.lines, want.lines) || !slices.Equal(tr.calls, want.calls) {
			t.Errorf("%s:\n got %+v\nwant %+v", tc.name, tr, want)
		}
	}
}

func TestScrub(t *testing.T) {
	t.Parallel()
	scrub := scrubber([]string{"tops3cret", "tops3cret-and-more", "abc"})
	for in, want := range map[string]string{
		"panic: boom": "panic: boom",
		"panic: key tops3cret-and-more and tops3cret.": "panic: key [redacted] and [redacted].",
		"an abc of it":                          "an abc of it",
		"token=tops3cret in it":                 "token=[redacted] in it",
		"Authorization: Bearer a.b.c":           "Authorization: [redacted]",
		`"cookie": "a=b; c=d"`:                  `"cookie": [redacted]`,
		"got Bearer abcdef.ghi from /x":         "got Bearer [redacted] from /x",
		"/x?api_key=hush&q=1":                   "/x?api_key=[redacted]&q=1",
		"/x?X-Amz-Security-Token=hush&q=1":      "/x?X-Amz-Security-Token=[redacted]&q=1",
		`{"password":"hush hush","n":1}`:        `{"password":[redacted],"n":1}`,
		"dial postgres://me:hush@db/x: refused": "dial postgres://me:[redacted]@db/x: refused",
		"jwt eyJhbGciOi.eyJzdWIi.c2ln in it":    "jwt [redacted] in it",
		"a tokenizer: parse":                    "a tokenizer: parse",
		"index out of range [5] with length 3":  "index out of range [5] with length 3",
	} {
		if got := scrub(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("panic: boom\n\n" + stackText))
	f.Add([]byte("\nruntime stack:\nruntime.throw({0x1})\n\n" + stackText))
	f.Add([]byte("fatal error: out of memory\n\n\ngoroutine 1 [running]:\nx(\n)\n()\ncreated by \n\t\n"))
	f.Add([]byte("panic: token=tops3cret Cookie: x\n\ttops3cret\n"))
	f.Add([]byte("SIGQUIT: quit\n"))
	f.Add(ours().encode())
	f.Fuzz(func(t *testing.T, text []byte) {
		tr := parse(text, scrubber([]string{"tops3cret"}))
		if (tr.kind == unreadable) != (tr.line == "" && len(tr.lines) == 0) {
			t.Fatalf("%+v", tr)
		}
		if len(tr.lines) > maxLines || len(tr.calls) > maxFrames || len(tr.lines) > 0 && tr.lines[0] != tr.line {
			t.Fatalf("%d lines, %d calls, the first line %q of %q", len(tr.lines), len(tr.calls), tr.line, tr.lines)
		}
		for _, s := range slices.Concat(tr.lines, tr.calls) {
			if len(s) > maxLine+maxName || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Fatalf("line %q", s)
			}
		}
		for _, s := range tr.lines[:min(1, len(tr.lines))] {
			if tr.kind == panicked && strings.HasPrefix(s, "panic: ") && strings.Contains(s, "tops3cret") {
				t.Fatalf("a secret shows: %q", s)
			}
		}
		rep := judge(text, "-", count{"1-1", 9}, nil)
		if len(text) > 0 && len(text) < headSize && rep.How != Unknown {
			t.Fatalf("%+v", rep)
		}
		judge(append(ours().encode(), text...), "-", count{}, nil)
	})
}
