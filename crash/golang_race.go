package crash

import (
	"strings"

	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// goRace reads a report of the race detector. Which of the two accesses came
// second is chance, so the pair of places is taken without order, and the frame
// is the one that sorts first.
func goRace(lines []string, i int) (trace, int, bool) {
	var tops []Frame
	next := i + 1
	for next < len(lines) {
		l := lines[next]
		if strings.HasPrefix(l, "====") || strings.HasPrefix(l, "WARNING: ") {
			break
		}
		access := goAccess(l)
		next++
		if !access {
			continue
		}
		s, n := goReadStack(lines, next-1)
		next = n
		goMarkModules(s.frames, []goStack{s})
		if f, ok := goTop(s.frames); ok {
			tops = append(tops, f)
		}
	}
	if len(tops) == 0 {
		return trace{}, i, false
	}
	sorted.Func(tops, func(a, b Frame) int { return strings.Compare(goPlace(a), goPlace(b)) })
	e := exception{typ: "data race", message: "data race", frames: tops[:1]}
	if len(tops) > 1 {
		e.code = goPlace(tops[1])
	}
	return trace{chain: []exception{e}}, next, true
}

// goAccess reports the line above one of a race's two stacks.
func goAccess(l string) bool {
	l = strings.TrimPrefix(l, "Previous ")
	if startsWith(l, "Write at 0x", "Read at 0x", "write at 0x", "read at 0x", "Atomic ", "atomic ", "Write by ", "Read by ", "write by ", "read by ") {
		return strings.HasSuffix(l, ":")
	}
	return false
}

func goPlace(f Frame) string {
	c := goCanonical(f)
	return c.File + " " + c.Function
}

// goTop returns the innermost frame of the program's own, else the innermost
// that says something.
func goTop(frames []Frame) (Frame, bool) {
	for _, f := range frames {
		if !goLibrary(f) && !goIgnore(f) {
			return f, true
		}
	}
	for _, f := range frames {
		if !goIgnore(f) {
			return f, true
		}
	}
	return Frame{}, false
}
