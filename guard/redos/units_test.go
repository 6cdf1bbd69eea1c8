package redos

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func drawSet(t *rapid.T, name string) set {
	return spans(rapid.SliceOfN(rapid.Int32Range(0, 300), 0, 8).Draw(t, name)...).ordered()
}

// ordered drops ranges that are the wrong way round.
func (s set) ordered() set {
	var out set
	for _, p := range s {
		if p.lo <= p.hi {
			out = append(out, p)
		}
	}
	return out.norm()
}

func TestSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawSet(t, "a"), drawSet(t, "b")
		for r := range rune(310) {
			in, and, less, or := a.has(r), a.and(b).has(r), a.less(b).has(r), a.with(b).has(r)
			if a.negate().has(r) == in || and != (in && b.has(r)) || less != (in && !b.has(r)) || or != (in || b.has(r)) {
				t.Fatalf("%v and %v at %d", a, b, r)
			}
			if in && !a.fold().has(r) {
				t.Fatalf("%v loses %d when folded", a, r)
			}
		}
	})
}

// TestAtoms: an atom's rune is in exactly the classes that the atom is in, and
// all runes have one.
func TestAtoms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := &alphabet{}
		for range rapid.IntRange(1, 80).Draw(t, "classes") {
			a.class(drawSet(t, "class"))
		}
		a.cut()
		signatures := map[string]bool{}
		signature := func(in func(class int) bool) string {
			s := make([]byte, len(a.classes))
			for c := range s {
				if in(c) {
					s[c] = 1
				}
			}
			return string(s)
		}
		for atom, r := range a.runes {
			s := signature(func(c int) bool { return a.in(c, atom) })
			if s != signature(func(c int) bool { return a.classes[c].has(r) }) {
				t.Fatalf("%q does not stand for atom %d", r, atom)
			}
			if signatures[s] {
				t.Fatalf("atom %d is there twice", atom)
			}
			signatures[s] = true
			for c := range a.classes {
				if a.in(c, atom) && !a.bags[c].has(atom) {
					t.Fatalf("the bag of class %d lacks atom %d", c, atom)
				}
			}
		}
		for r := range rune(310) {
			if !signatures[signature(func(c int) bool { return a.classes[c].has(r) })] {
				t.Fatalf("%q has no atom", r)
			}
		}
	})
}

func TestDialects(t *testing.T) {
	for d := JS; d <= Postgres; d++ {
		if got, err := ParseDialect(d.String()); err != nil || got != d {
			t.Errorf("%v: %v, %v", d, got, err)
		}
	}
	for name, want := range map[string]Dialect{"JavaScript": JS, "go/re2": RE2, "Elasticsearch": Lucene, "php": PCRE, ".NET": DotNet} {
		if got, err := ParseDialect(name); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	_, err := ParseDialect("cobol")
	if err == nil {
		t.Fatal("cobol has regular expressions")
	}
	if len(Dialects()) != int(Postgres)+1 {
		t.Errorf("%q", Dialects())
	}
	for _, d := range Dialects() {
		if !strings.Contains(err.Error(), d) {
			t.Errorf("%v does not list %s", err, d)
		}
	}
	if !strings.Contains(err.Error(), "perl") {
		t.Errorf("%v does not list perl", err)
	}
	if got := Dialect(99).String() + Class(99).String(); got != "Dialect(99)Class(99)" {
		t.Error(got)
	}
}

func TestAutomata(t *testing.T) {
	for _, c := range []struct {
		d              Dialect
		pattern        string
		states, repeat int
	}{
		{RE2, `abc`, 3, 1},
		{RE2, `(a{10}b){5}`, 55, 50},
		{Postgres, `(a{100}){100}`, 10_000, 10_000},
		{Lucene, `abc`, 5, 1}, // with the beginning and the end without a match
		{Lucene, `.*a.{3}`, 17, 3},
		{Lucene, `.*a.{20}`, maxDetermined, 20},
		{Lucene, `((((a{999}){999}){999}){999}){999}`, MaxSize, MaxSize},
	} {
		r := Analyze(c.pattern, Options{Dialect: c.d})
		if r.Class != Safe || r.States != c.states || r.Repeat != c.repeat {
			t.Errorf("%v %s: %+v, want %d states and %d", c.d, c.pattern, r, c.states, c.repeat)
		}
	}
}

func TestAnchored(t *testing.T) {
	for flags, want := range map[string]string{"": srch, "y": safe} {
		if got := kind(Analyze(`x+y`, Options{Flags: flags})); got != want {
			t.Errorf("%q: %s, want %s", flags, got, want)
		}
	}
	if got := kind(Analyze(`x+y`, Options{Dialect: Python, Anchored: true})); got != safe {
		t.Errorf("match: %s", got)
	}
}

func TestBudget(t *testing.T) {
	r := Analyze(`^(?:x+)+y`, Options{Budget: 20})
	if r.Class != Unknown || r.Steps != 20 || r.Reason == "" {
		t.Errorf("%+v", r)
	}
}

// Many loops in a row take so long on the shortest text that no growth is seen:
// that hides none of them, and what was not searched to the end is not safe.
func TestManyLoopsHideNothing(t *testing.T) {
	for loop, upTo := range map[string]int{`(a|a)*`: 24, `(.|.)*`: 24, `(\w|\d|[^x])*`: 24, `(a+)+`: 12, `(x+x+)+`: 8, `.*`: 0} {
		for n := 1; n <= 24; n++ {
			r := Analyze(strings.Repeat(loop, n)+"y", Options{Dialect: JS})
			if r.Class == Safe || n <= upTo && r.Class != Exponential {
				t.Errorf("%d × %s is %s: %s", n, loop, r.Class, r.Reason)
			}
		}
	}
}

// The other cases of a large set are looked for once, however often it comes.
func TestFoldedOnce(t *testing.T) {
	for source, sets := range map[string]int{`\p{L}a\p{L}`: 1, `[^\p{L}1]b[^\p{L}1]`: 2, `abc[d-f]`: 0} {
		p := &parser{src: source, dialect: MySQL, names: map[string]int{}}
		p.setFlags("")
		p.alternatives()
		if p.err != nil || len(p.folded) != sets {
			t.Errorf("%s: %v, %d sets, want %d", source, p.err, len(p.folded), sets)
		}
	}
	p := &parser{}
	s := letters().with(spans('0', '1', '3', '3', '5', '5', '7', '7', 0xe0, 0xe5, 0x3b1, 0x3b1, 0x430, 0x430, 0x531, 0x531))
	if got, want := p.fold(s), s.fold(); !got.equal(want) || !p.fold(s).equal(want) || &p.fold(s)[0] != &got[0] {
		t.Errorf("%v, want %v", got, want)
	}
}
