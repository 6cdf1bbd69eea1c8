package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// mostAgain is how many tests are run once more. When more fail, the change is
// broken and not the moment.
const mostAgain = 5

// failure is a package that failed.
type failure struct {
	job   job
	pkg   string
	tests []string // that failed, without subtests
	line  string   // go test's last one
	final bool     // it must not be tried again
}

// final tells output after which a second run would hide what the first one found.
func final(text string) bool {
	return strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ") || strings.Contains(text, "WARNING: DATA RACE")
}

// again runs the tests that failed once more, one package after the other, and
// reports whether all of them passed. It does so for at most mostAgain tests, and
// not if a package does not compile, if a test binary died or took too long, or if
// the race detector found something.
func (p *printer) again(ctx context.Context, stderr io.Writer) bool {
	n := 0
	for _, f := range p.failed {
		n += len(f.tests)
		if f.final || len(f.tests) == 0 {
			return false
		}
	}
	if n == 0 || n > mostAgain {
		return false
	}
	var left []failure
	for _, f := range p.failed {
		fmt.Fprintf(p.out, "once more, alone: %s %s\n", f.pkg, strings.Join(f.tests, " "))
		if !f.passes(ctx, p.out, stderr) {
			left = append(left, f)
			continue
		}
		for _, test := range f.tests {
			p.shaky = append(p.shaky, f.pkg+" "+test)
		}
	}
	p.failed = left
	return len(left) == 0
}

// passes runs the tests of f, and shows what they say if they fail.
func (f failure) passes(ctx context.Context, stdout, stderr io.Writer) bool {
	j := f.job
	j.packages = []string{f.pkg}
	p := newPrinter(stdout)
	err := j.run(ctx, p, stderr, "-count=1", "-run=^("+strings.Join(f.tests, "|")+")$")
	for _, test := range f.tests { // a pattern that matches nothing passes too
		if !slices.ContainsFunc(p.times, func(t timed) bool { return t.test == test }) {
			return false
		}
	}
	return err == nil
}
