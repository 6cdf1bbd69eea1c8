package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A `text` block that follows a block of commands shows what they print. Each of its
// lines must be a line of the output, once. These differ from run to run and count as
// equal: identifiers, times, durations, addresses, columns of spaces. `…` stands for
// any text. In a block `text varies` all numbers are equal.

// differs are the parts of a line that differ from run to run, with what replaces them.
var differs = []struct {
	form *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`\x1b\[[0-9;]*m`), ""},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)`), "TIME"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "TIME"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "ADDRESS"},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "ID"},
	{regexp.MustCompile(`\b(q|dl|plan)-[0-9a-f]+\b`), "$1-ID"},
	{regexp.MustCompile(`\b(?:[0-9a-z]{26}|[0-9a-f]{32}|[0-9a-f]{16}|[0-9a-f]{8})\b`), "ID"},
	{regexp.MustCompile(`\b(just now|in (\d+(\.\d+)?(ms|µs|s|m|h))+|(\d+(\.\d+)?(ms|µs|s|m|h))+ ago)`), "WHEN"},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(ms|µs|s|m|h))+\b`), "WHILE"},
}

var (
	anyNumber = regexp.MustCompile(`\d+(\.\d+)?`)
	spaces    = regexp.MustCompile(`\s+`)
)

// alike is a line without what differs from run to run.
func alike(line string, varies bool) string {
	for _, d := range differs {
		line = d.form.ReplaceAllString(line, d.by)
	}
	if varies {
		line = anyNumber.ReplaceAllString(line, "N")
	}
	return strings.TrimSpace(spaces.ReplaceAllString(line, " "))
}

// unprinted returns the lines of a page that are not in an output.
func unprinted(page, output string, varies bool) (missing []string) {
	var lines []string
	for line := range strings.Lines(output) {
		lines = append(lines, alike(line, varies))
	}
	for line := range strings.Lines(page) {
		want := alike(line, varies)
		if want == "" || want == "…" {
			continue
		}
		form := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*") + "$")
		at := slices.IndexFunc(lines, form.MatchString)
		if at < 0 {
			missing = append(missing, strings.TrimSpace(line))
			continue
		}
		lines = slices.Delete(lines, at, at+1)
	}
	return missing
}

func TestPrintedLinesAreCompared(t *testing.T) {
	for _, c := range []struct {
		page, output string
		varies       bool
		missing      int
	}{
		{"q-5d5fb6b09c64  since 3s ago\n", "q-000000000001 since just now\n", false, 0},
		{"bezoar: 3 messages, in 16.3s\n", "bezoar: 3 messages, in 2.1s\n", false, 0},
		{"bezoar: 3 messages\n", "bezoar: 2 messages\n", false, 1},
		{"lost 16\n", "lost 24\n", true, 0},
		{"lost 16\n", "won 24\n", true, 1},
		{"one … four\n…\n", "one two three four\n", false, 0},
		{"one …\n", "none\n", false, 1},
		{"twice\ntwice\n", "twice\n", false, 1},
		{"http://127.0.0.1:8080\n", "http://127.0.0.1:21811\n", false, 0},
		{"a line\n", "", false, 1},
	} {
		if got := unprinted(c.page, c.output, c.varies); len(got) != c.missing {
			t.Errorf("%q in %q: missing %q, want %d lines", c.page, c.output, got, c.missing)
		}
	}
}

// shown is the output that a page shows of the block before.
func (b block) shown() (text string, varies, ok bool) {
	return b.text, b.note == "varies", b.lang == "text" && (b.note == "" || b.note == "varies")
}

// outputs are the languages of blocks that show what commands print.
func outputs() []string { return []string{"", "console", "diff", "json", "log", "output", "text"} }

// Each block that looks like an output follows the commands that print it, and is
// compared; or it is a file, or says what it is instead. Without a language nobody
// could tell.
func TestOutputsOfPagesAreCompared(t *testing.T) {
	compared, marked := 0, 0
	for name := range pages(t) {
		var before block
		for _, b := range blocks(t, "../../"+name) {
			is, unprinted := b.unprinted()
			_, unrun := before.unrun()
			_, _, shows := b.shown()
			switch {
			case unprinted && is == "":
				t.Errorf("%s:%d: unprinted= does not say what the block is", name, b.line)
			case unprinted:
				marked++
			case b.lang == "":
				t.Errorf("%s:%d: the block has no language: write ```text", name, b.line)
			case !slices.Contains(outputs(), b.lang), strings.HasPrefix(b.note, "file="):
			case b.lang == "json" && slices.Contains(protocol(), b.note):
			case !shows:
				t.Errorf("%s:%d: outputs are shown in ```text: write that, or unprinted=\"what it is\"", name, b.line)
			case before.lang != "sh" || unrun:
				t.Errorf("%s:%d: no commands that run stand before this: write unprinted=\"what it is\"", name, b.line)
			default:
				compared++
			}
			before = b
		}
	}
	if compared < 20 {
		t.Errorf("only %d outputs are compared", compared)
	}
	t.Logf("%d outputs are compared, %d blocks are none", compared, marked)
}

// protocol are the notes of documents that another test reads: the lines of docs/pool.md.
func protocol() []string { return []string{"in", "hello", "answer"} }

// compare reports whether a page shows what its commands print.
func (r *reader) compare(shown block, output string) error {
	text, varies, _ := shown.shown()
	if missing := unprinted(text, output, varies); len(missing) > 0 {
		return fmt.Errorf("%s:%d: not printed: %q\nprinted:\n%s", r.file, shown.line, missing, output)
	}
	return nil
}

// sharedBuffer is written by a process while the test reads it.
type sharedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

func (b *sharedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *sharedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
