package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"GET /ä?q=1":     "GET /ä?q=1",
		"a\x1b[2Jb\nc":   `a\x1b[2Jb\x0ac`,
		"\xff\x80ok":     `\xff\x80ok`,
		"abc\u202edcba":  `abc\u202edcba`,
		"\u0085\u2028\t": `\u0085\u2028\x09`,
		"\ufffd is fine": "\ufffd is fine",
		"":               "",
	} {
		if got := clean(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// Lines of handlers on a terminal: what a message says, its handler may print.
func TestHarmless(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\r":                 "a    b",
		"\x1b]0;x\x07\x1b[2J":    `\x1b]0;x\x07\x1b[2J`,
		"50%\r100%":              `50%\x0d100%`,
		"\u009b31m \x9b31m \x00": `\u009b31m \x9b31m \x00`,
	} {
		if got := harmless(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// What cannot be written makes a command fail, unless nobody wants to read it.
func TestOutputThatIsLost(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	for _, c := range []struct {
		to   *os.File
		code int
		says string
	}{{full, exitFailure, "no space left"}, {w, exitOK, ""}} {
		var stderr bytes.Buffer
		code := Main(t.Context(), Process{Args: []string{"version"}, Stdout: c.to, Stderr: &stderr, Getenv: os.Getenv})
		if code != c.code || !strings.Contains(stderr.String(), c.says) || c.says == "" && stderr.Len() > 0 {
			t.Errorf("%s: exit code %d, %q", c.to.Name(), code, stderr.String())
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[2Jb")
	f.Add("\xf0\x9f\x98\x80\xff")
	f.Fuzz(func(t *testing.T, in string) {
		out := clean(in)
		if !utf8.ValidString(out) || strings.ContainsFunc(out, unsafeRune) {
			t.Fatalf("%q became %q", in, out)
		}
		if clean(out) != out {
			t.Fatalf("%q is cleaned twice", in)
		}
	})
}

func TestWrap(t *testing.T) {
	got := strings.Join(wrap("one two three fourteenletters five", 9), "|")
	if want := "one two|three|fourteenl|etters|five"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, line := range wrap(strings.Repeat("ä bc def ", 30), 11) {
		if utf8.RuneCountInString(line) > 11 {
			t.Errorf("%q is too long", line)
		}
	}
}

func TestTableCutsItsLastColumnToTheTerminal(t *testing.T) {
	var b bytes.Buffer
	tb := table{head: []string{"ID", ">N", "WORK"}}
	tb.add(plain("q-1"), plain("7"), plain("GET /a/very/long/target"))
	tb.add(plain("q-22"), plain("1234"), plain("x"))
	tb.write(&printer{w: &b, width: func() int { return 24 }}, "")
	want := "ID       N  WORK\nq-1      7  GET /a/very…\nq-22  1234  x\n"
	if b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
}

func TestNoColourOutsideATerminal(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := newPrinter(f, func(string) string { return "" })
	if p.color || p.width != nil || p.paint(red, "x") != "x" {
		t.Error("a file is taken for a terminal")
	}
}
