package crash

import (
	"strings"
	"testing"
)

// One output often holds several failures; which one counts.
func TestWhichFailureCounts(t *testing.T) {
	python := "Traceback (most recent call last):\n  File \"/srv/shop/orders.py\", line 31, in price\n    return table[key]\nKeyError: 'EUR'\n"
	other := strings.NewReplacer("price", "total", "KeyError: 'EUR'", "ValueError: x").Replace(python)
	asan := "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010 at pc 0x4\nREAD of size 4 at 0x602000000010 thread T0\n    #0 0x4 in cart_total /srv/shop/cart.c:14:9\n    #1 0x5 in main /srv/shop/main.c:3:1\n\nSUMMARY: AddressSanitizer: heap-use-after-free /srv/shop/cart.c:14:9 in cart_total\n==7==ABORTING\n"
	psql := "psql:seed.sql:4: ERROR:  relation \"orders\" does not exist\n"
	shell := "./start.sh: line 3: cd: /srv/shop: No such file or directory\n"
	job := "./start.sh: line 9:  812 Aborted                 (core dumped) ./shop\n"
	compiler := "cart.c:14:9: error: 'sum' undeclared (first use in this function)\n"
	makes := "make: *** [Makefile:3: cart.o] Error 1\n"
	words := "fatal: all is lost\n"
	for _, c := range []struct{ name, output, want string }{
		{"the last trace", python + "retrying\n" + other, "ValueError"},
		{"a sanitizer before what follows", asan + python, "AddressSanitizer: heap-use-after-free"},
		{"a trace before a client's error", python + psql, "KeyError"},
		{"a client's error before a shell's", psql + shell, "ERROR"},
		{"a trace before a shell's", python + shell + words, "KeyError"},
		{"a killed job before faults of the script", shell + job, "Aborted"},
		{"a trace before the job that it ended", python + job, "KeyError"},
		{"a shell's before a compiler's", shell + compiler, "no such file or directory"},
		{"a compiler's before make's", compiler + makes, "error"},
		{"words before make's", words + makes, "fatal"},
		{"the first of faults that follow", shell + "./start.sh: line 4: ./shop: Permission denied\n", "no such file or directory"},
		{"words when there is nothing else", "starting\n" + words + "bye\n", "fatal"},
	} {
		r, err := ParseBytes([]byte(c.output))
		if err != nil || r.Type != c.want {
			t.Errorf("%s: got %q (%v), want %q\n%q", c.name, r.Type, err, c.want, r.Why)
		}
	}
}

func TestBrokenReaderIsPassedOver(t *testing.T) {
	broken := language{
		name:   "broken",
		begins: func(string) bool { return true },
		read:   func(lines []string, i int) (trace, int, bool) { return trace{}, len(lines[i+len(lines)]), true },
	}
	p := Parser{table: append([]language{broken}, languages()...)}
	r, err := p.ParseBytes([]byte(tracedPython))
	if err != nil || r.Type != "IndexError" || !strings.Contains(strings.Join(r.Why, "\n"), "the reader of broken panicked") {
		t.Errorf("got %q (%v) %q", r.Type, err, r.Why)
	}
}

// Which exception of a chain, and which frame of it.
func TestWhichFrameCounts(t *testing.T) {
	own := func(n string) Frame { return Frame{File: "own/" + n, Line: 1, Function: n} }
	lib := func(n string) Frame { return Frame{File: "lib/" + n, Line: 1, Function: n} }
	noise := Frame{File: "noise", Function: "trampoline"}
	lang := &language{
		name:    "test",
		library: func(f Frame) bool { return strings.HasPrefix(f.File, "lib/") },
		ignore:  func(f Frame) bool { return f == noise },
	}
	for _, c := range []struct {
		name    string
		chain   []exception
		cut     bool
		typ, at string
		quality Quality
	}{
		{"own", []exception{{typ: "A", frames: []Frame{noise, lib("x"), own("y"), own("z")}}}, false, "A", "y", Own},
		{"cause first", []exception{{typ: "A", frames: []Frame{own("x")}}, {typ: "B", frames: []Frame{own("y")}}}, false, "A", "x", Own},
		{"cause in a library", []exception{{typ: "A", frames: []Frame{lib("x")}}, {typ: "B", frames: []Frame{own("y")}}}, false, "B", "y", Own},
		{"wrapper's place, cause's type", []exception{{typ: "A", frames: []Frame{lib("x")}}, {typ: "W", wrapper: true, frames: []Frame{own("y")}}}, false, "A", "y", Own},
		{"library only", []exception{{typ: "A", frames: []Frame{noise, lib("x"), lib("y")}}, {typ: "B", frames: []Frame{lib("z")}}}, false, "A", "x", Library},
		{"no frame", []exception{{typ: "A"}}, false, "A", "", Message},
		{"only noise", []exception{{typ: "A", frames: []Frame{noise}}}, false, "A", "", Message},
		{"cut off", []exception{{typ: "A", frames: []Frame{own("x")}}}, true, "A", "x", Library},
		{"a bare line", []exception{{typ: "A", frames: []Frame{{Line: 3}}}}, false, "A", "", Message},
	} {
		p := Parser{}
		var why []string
		got := p.choose(&found{trace: trace{chain: c.chain, cut: c.cut}, lang: lang}, &why)
		if got.typ != c.typ || got.frame.Function != c.at || got.quality != c.quality {
			t.Errorf("%s: got %s at %q, quality %s; want %s at %q, %s", c.name, got.typ, got.frame.Function, got.quality, c.typ, c.at, c.quality)
		}
	}
}

// What enters the hashes.
func TestHashes(t *testing.T) {
	lang := &language{name: "test", vague: func(typ string) bool { return typ == "Error" }}
	base := choice{lang: lang, typ: "A", kind: "A", rests: Own, frame: Frame{File: "/x/a.t", Line: 3, Function: "f"}}
	strict, group := base.hashes("words")
	for _, c := range []struct {
		name                  string
		change                func(c *choice)
		reason                string
		sameStrict, sameGroup bool
	}{
		{"nothing", func(*choice) {}, "words", true, true},
		{"message", func(*choice) {}, "other", true, true},
		{"line", func(c *choice) { c.frame.Line = 4 }, "words", false, true},
		{"folder", func(c *choice) { c.frame.File = `C:\y\a.t` }, "words", true, true},
		{"file", func(c *choice) { c.frame.File = "/x/b.t" }, "words", false, false},
		{"function", func(c *choice) { c.frame.Function = "g" }, "words", false, false},
		{"module", func(c *choice) { c.frame.Module = "m" }, "words", false, false},
		{"type", func(c *choice) { c.kind = "B" }, "words", false, false},
		{"code of a telling type", func(c *choice) { c.code = "7" }, "words", true, true},
		{"cut", func(c *choice) { c.quality = Library }, "words", true, true},
		{"cause", func(c *choice) { c.cause = "oom" }, "words", false, false},
	} {
		changed := base
		c.change(&changed)
		s, g := changed.hashes(c.reason)
		if (s == strict) != c.sameStrict || (g == group) != c.sameGroup {
			t.Errorf("%s: same fingerprint %v, same group %v; want %v, %v", c.name, s == strict, g == group, c.sameStrict, c.sameGroup)
		}
	}
	tells := func(c choice, a, b string) bool {
		_, x := c.hashes(a)
		_, y := c.hashes(b)
		return x != y
	}
	placeless := choice{lang: lang, typ: "A", kind: "A", rests: Own, frame: Frame{File: "a.t", Line: 3}}
	if !tells(placeless, "one", "two") {
		t.Error("without a function, the words must tell two places apart")
	}
	vague := base
	vague.typ, vague.rests = "Error", Library
	if !tells(vague, "one", "two") {
		t.Error("a vague type in a library needs the words")
	}
	vague.code = "7"
	if tells(vague, "one", "two") {
		t.Error("a code is better than words")
	}
}
