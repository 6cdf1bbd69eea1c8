package live

import (
	"bytes"
	"fmt"
	"strings"
)

// diffContext is how many equal lines surround a change.
const diffContext = 3

// DiffText compares two texts by lines, in the unified format, each hunk headed
// by the path of keys that its first change is below, as far as indentation
// tells in YAML. It is "" if the texts are equal. The differences are the
// fewest; of texts that differ in more than maxEdits lines, everything between
// the first and the last difference is replaced.
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

// change says that lines a to aEnd became lines b to bEnd.
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

// span is how the format counts lines start to end: from 1, and an empty span
// is after the line that it names.
func span(start, end int) string {
	switch end - start {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprint(start + 1)
	}
	return fmt.Sprintf("%d,%d", start+1, end-start)
}

// lines cuts text after each line break.
func lines(text []byte) []string {
	found := strings.SplitAfter(string(text), "\n")
	if found[len(found)-1] == "" {
		found = found[:len(found)-1]
	}
	return found
}
