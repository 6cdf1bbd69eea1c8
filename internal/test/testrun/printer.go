package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// most is how many slow tests are named.
const most = 20

// event is one that go test -json tells of.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64 // seconds
}

// said is a piece of a package's output, and the test that it belongs to.
type said struct{ test, text string }

// timed is a test and how long it took.
type timed struct {
	pkg, test string
	took      float64
}

// printer turns events into what go test prints without -v.
type printer struct {
	mu     sync.Mutex // guards what follows
	out    io.Writer
	began  time.Time
	said   map[string][]said          // by package
	fine   map[string]map[string]bool // tests that passed or were skipped, by package
	ill    map[string][]string        // tests that failed, without subtests, by package
	times  []timed
	failed []failure
	shaky  []string // what passed the second time
}

func newPrinter(out io.Writer) *printer {
	return &printer{out: out, began: time.Now(), said: map[string][]said{}, fine: map[string]map[string]bool{}, ill: map[string][]string{}}
}

// line prints what is no event.
func (p *printer) line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.out, strings.TrimSuffix(text, "\n"))
}

func (p *printer) take(j job, e event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Action {
	case "build-output":
		fmt.Fprint(p.out, e.Output)
	case "output":
		p.said[e.Package] = append(p.said[e.Package], said{e.Test, e.Output})
	case "pass", "skip", "fail":
		if e.Test == "" {
			p.end(j, e)
			return
		}
		p.times = append(p.times, timed{e.Package, e.Test, e.Elapsed})
		if e.Action == "fail" {
			if !strings.Contains(e.Test, "/") {
				p.ill[e.Package] = append(p.ill[e.Package], e.Test)
			}
			return
		}
		if p.fine[e.Package] == nil {
			p.fine[e.Package] = map[string]bool{}
		}
		p.fine[e.Package][e.Test] = true
	}
}

// end prints what a package has to say: all that is not of tests that went well if
// it failed, otherwise its last line.
func (p *printer) end(j job, e event) {
	f := failure{job: j, pkg: e.Package, tests: p.ill[e.Package]}
	for _, s := range p.said[e.Package] {
		summary := s.test == "" && strings.Contains(s.text, "\t") && (strings.HasPrefix(s.text, "ok ") || strings.HasPrefix(s.text, "? "))
		if e.Action == "fail" && !p.fine[e.Package][s.test] && !chatter(s.text) || summary {
			fmt.Fprint(p.out, s.text)
		}
		if s.test == "" && strings.HasPrefix(s.text, "FAIL\t") {
			f.line = s.text
		}
		f.final = f.final || final(s.text)
	}
	if e.Action == "fail" {
		p.failed = append(p.failed, f)
	}
	delete(p.said, e.Package)
	delete(p.fine, e.Package)
	delete(p.ill, e.Package)
}

// chatter is what only -v adds.
func chatter(text string) bool {
	return strings.HasPrefix(text, "=== ")
}

// finish names the slowest tests, then the packages that failed.
func (p *printer) finish(ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for pkg := range p.said { // go test was stopped
		p.end(job{}, event{Action: "fail", Package: pkg})
	}
	if slow := slowest(p.times, most); len(slow) > 0 {
		fmt.Fprintf(p.out, "\nthe %d slowest of %d tests, in %.0f s altogether:\n", len(slow), len(p.times), time.Since(p.began).Seconds())
		for _, t := range slow {
			fmt.Fprintf(p.out, "slow %7.1f s  %s %s\n", t.took, t.pkg, t.test)
		}
		fmt.Fprintln(p.out)
	}
	for _, name := range p.shaky {
		fmt.Fprintf(p.out, "unsteady  %s: failed beside other tests, passed alone\n", name)
	}
	for _, f := range p.failed {
		fmt.Fprint(p.out, f.line)
	}
	if ok {
		fmt.Fprintln(p.out, "PASS")
	} else {
		fmt.Fprintln(p.out, "FAIL")
	}
}

// slowest returns n tests, slowest first. A test whose subtests are among them is
// left out if one of them takes most of its time: it would say the same twice.
func slowest(all []timed, n int) []timed {
	longest := map[timed]float64{} // of a test's subtests; the key has no time
	for _, t := range all {
		for name := t.test; ; {
			at := strings.LastIndexByte(name, '/')
			if at < 0 {
				break
			}
			name = name[:at]
			key := timed{pkg: t.pkg, test: name}
			longest[key] = max(longest[key], t.took)
		}
	}
	slow := slices.DeleteFunc(slices.Clone(all), func(t timed) bool {
		return t.took < 2*longest[timed{pkg: t.pkg, test: t.test}]
	})
	slices.SortStableFunc(slow, func(a, b timed) int {
		return cmp.Or(cmp.Compare(b.took, a.took), cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.test, b.test))
	})
	return slow[:min(n, len(slow))]
}
