package live_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/internal/control/live"
)

const before = `listen: 127.0.0.1:8080
# a comment
fleets:
  search:
    replicas: 8
    health: {path: /healthz}
routes:
- match: {path: /a}
  fleet: search
- match:
    path: /search/*
  fleet: search
  limits:
    - key: "header:X-Api-Key"
      rate: 100/s
    - key: ip
      rate: 10/s
  retry:
    attempts: 3
queues:
  jobs:
    visibility: 30s
`

func TestDiff(t *testing.T) {
	for name, c := range map[string]struct {
		change func(string) string
		want   string
	}{
		"nothing": {func(s string) string { return s }, ""},
		"a rate below lists": {func(s string) string { return strings.Replace(s, "rate: 10/s", "rate: 20/s", 1) }, `@@ -14,7 +14,7 @@ routes[1].limits[1]
     - key: "header:X-Api-Key"
       rate: 100/s
     - key: ip
-      rate: 10/s
+      rate: 20/s
   retry:
     attempts: 3
 queues:
`},
		"an item more": {func(s string) string {
			return strings.Replace(s, "  retry:\n", "    - key: route\n      rate: 1/s\n  retry:\n", 1)
		}, `@@ -15,6 +15,8 @@ routes[1].limits
       rate: 100/s
     - key: ip
       rate: 10/s
+    - key: route
+      rate: 1/s
   retry:
     attempts: 3
 queues:
`},
		"an item less, as far out as its key": {func(s string) string { return strings.Replace(s, "- match: {path: /a}\n  fleet: search\n", "", 1) }, `@@ -5,8 +5,6 @@ routes
     replicas: 8
     health: {path: /healthz}
 routes:
-- match: {path: /a}
-  fleet: search
 - match:
     path: /search/*
   fleet: search
`},
		"both ends": {func(s string) string {
			return strings.Replace(strings.Replace(s, "8080", "80", 1), "visibility: 30s\n", "visibility: 1m", 1)
		}, `@@ -1,4 +1,4 @@
-listen: 127.0.0.1:8080
+listen: 127.0.0.1:80
 # a comment
 fleets:
   search:
@@ -19,4 +19,4 @@ queues.jobs
     attempts: 3
 queues:
   jobs:
-    visibility: 30s
+    visibility: 1m
\ No newline at end of file
`},
		"everything": {func(string) string { return "" }, "@@ -1,22 +0,0 @@\n" +
			"-" + strings.ReplaceAll(strings.TrimSuffix(before, "\n"), "\n", "\n-") + "\n"},
	} {
		want := c.want
		if want != "" {
			want = "--- a\n+++ b\n" + want
		}
		if got := live.DiffText("a", []byte(before), "b", []byte(c.change(before))); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

// Texts that have little in common are replaced as a whole, in little time.
func TestDiffIsBounded(t *testing.T) {
	var a, b strings.Builder
	for i := 0; a.Len() < live.MaxText-10; i++ {
		fmt.Fprintf(&a, "%d\n", i)
		fmt.Fprintf(&b, "x%d\n", i)
	}
	diff := live.DiffText("a", []byte(a.String()), "b", []byte(b.String()))
	if n := strings.Count(diff, "\n@@"); n != 1 || len(diff) > 4*live.MaxText {
		t.Errorf("%d hunks, %d bytes", n, len(diff))
	}
	// Two changes a long way apart are two changes.
	c := strings.Replace(strings.Replace(a.String(), "\n5\n", "\nfive\n", 1), "\n99000\n", "\n", 1)
	if n := strings.Count(live.DiffText("a", []byte(a.String()), "b", []byte(c)), "\n@@"); n != 2 {
		t.Errorf("%d hunks", n)
	}
}

// patch applies a unified diff by itself.
func patch(t interface{ Fatalf(string, ...any) }, a, diff string) string {
	var out strings.Builder
	from := strings.SplitAfter(a, "\n")
	at := 0
	lines := strings.SplitAfter(diff, "\n")
	for i := 2; i < len(lines); i++ {
		line := lines[i]
		if line == "" || line[0] == '\\' {
			continue
		}
		if strings.HasPrefix(line, "@@") {
			var start, count int
			old := strings.TrimPrefix(strings.Fields(line)[1], "-")
			if n, _ := fmt.Sscanf(old, "%d,%d", &start, &count); n < 2 {
				count = 1
			}
			if count > 0 {
				start--
			}
			for ; at < start; at++ {
				out.WriteString(from[at])
			}
			continue
		}
		text := line[1:]
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "\\") {
			text = strings.TrimSuffix(text, "\n")
		}
		if line[0] != '+' {
			if at >= len(from) || from[at] != text {
				t.Fatalf("the diff does not fit at line %d: %q", at+1, line)
			}
			at++
		}
		if line[0] != '-' {
			out.WriteString(text)
		}
	}
	for ; at < len(from); at++ {
		out.WriteString(from[at])
	}
	return out.String()
}

// A diff leads from one text to the other, and is as short as can be.
func TestDiffIsRightAndShort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"", "a:", "  b: 1", "- c", "- d: e", "x"})
		gen := func(label string) []string { return rapid.SliceOfN(line, 0, 25).Draw(t, label) }
		a, b := gen("a"), gen("b")
		end := rapid.SampledFrom([]string{"", "\n"})
		textA, textB := strings.Join(a, "\n")+end.Draw(t, "end of a"), strings.Join(b, "\n")+end.Draw(t, "end of b")
		diff := live.DiffText("a", []byte(textA), "b", []byte(textB))
		if (diff == "") != (textA == textB) {
			t.Fatalf("%q and %q differ by %q", textA, textB, diff)
		}
		if diff == "" {
			return
		}
		if got := patch(t, textA, diff); got != textB {
			t.Fatalf("%q becomes %q, not %q, by\n%s", textA, got, textB, diff)
		}
		edits := 0
		for _, l := range strings.Split(diff, "\n")[2:] {
			if strings.HasPrefix(l, "-") || strings.HasPrefix(l, "+") {
				edits++
			}
		}
		if least := distance(cut(textA), cut(textB)); edits != least {
			t.Fatalf("%d edits where %d do:\n%s", edits, least, diff)
		}
	})
}

func cut(s string) []string {
	found := strings.SplitAfter(s, "\n")
	if found[len(found)-1] == "" {
		found = found[:len(found)-1]
	}
	return found
}

// distance is how many lines must go or come, by the textbook.
func distance(a, b []string) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			above := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return len(a) + len(b) - 2*row[len(b)]
}

func FuzzDiff(f *testing.F) {
	f.Add([]byte(before), []byte(strings.Replace(before, "8", "9", 3)))
	f.Add([]byte("a"), []byte("a\n"))
	f.Add([]byte("- - a: b\n  -\n"), []byte("\"x\": \xff\n: :\n- : a"))
	f.Add([]byte(nil), []byte("\n"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		diff := live.DiffText("a", a, "b", b)
		if bytes.Equal(a, b) {
			if diff != "" {
				t.Fatalf("equal texts differ by %q", diff)
			}
			return
		}
		if got := patch(t, string(a), diff); got != string(b) {
			t.Fatalf("%q becomes %q, not %q, by\n%s", a, got, b, diff)
		}
	})
}
