package live

import (
	"bytes"
	"fmt"
	"strings"
)

// diffContext is the number of unchanged lines around a change.
const diffContext = 3

// DiffText compares two texts line by line, in the unified format. The heading of each hunk
// is the path of the keys around its first change, derived from the indentation of YAML.
// The result is "" if the texts are equal. The number of differences is minimal. If more
// than maxEdits lines differ, everything between the first and the last difference is
// replaced.
func DiffText(nameA string, a []byte, nameB string, b []byte) string {
	if bytes.Equal(a, b) {
		return ""
	}
	from, to := lines(a), lines(b)
	changes := compare(from, to)
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", nameA, nameB)
	paths := keyPaths(from)
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && changes[n].a-changes[n-1].aEnd <= 2*diffContext {
			n++
		}
		writeHunk(&out, from, to, changes[:n], paths)
		changes = changes[n:]
	}
	return out.String()
}

// change means that lines a to aEnd became lines b to bEnd.
type change struct{ a, aEnd, b, bEnd int }

func writeHunk(out *strings.Builder, from, to []string, changes []change, paths func(at int, line string) string) {
	first, last := changes[0], changes[len(changes)-1]
	lead := min(diffContext, first.a)
	tail := min(diffContext, len(from)-last.aEnd)
	startA, endA := first.a-lead, last.aEnd+tail
	startB, endB := first.b-lead, last.bEnd+tail
	fmt.Fprintf(out, "@@ -%s +%s @@", span(startA, endA), span(startB, endB))
	line := ""
	if first.aEnd > first.a {
		line = from[first.a]
	} else {
		line = to[first.b]
	}
	if path := paths(first.a, line); path != "" {
		out.WriteString(" " + path)
	}
	out.WriteByte('\n')
	at := startA
	for _, c := range changes {
		writeLines(out, ' ', from[at:c.a])
		writeLines(out, '-', from[c.a:c.aEnd])
		writeLines(out, '+', to[c.b:c.bEnd])
		at = c.aEnd
	}
	writeLines(out, ' ', from[at:endA])
}

func writeLines(out *strings.Builder, sign byte, lines []string) {
	for _, line := range lines {
		out.WriteByte(sign)
		out.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// span formats the lines start to end: counted from 1; an empty span names the line before
// it.
func span(start, end int) string {
	switch end - start {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprint(start + 1)
	}
	return fmt.Sprintf("%d,%d", start+1, end-start)
}

// lines splits text after each line break.
func lines(text []byte) []string {
	found := strings.SplitAfter(string(text), "\n")
	if found[len(found)-1] == "" {
		found = found[:len(found)-1]
	}
	return found
}
