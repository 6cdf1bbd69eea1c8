package crash

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A line at which an entry of the table begins is never kept from it.
func checkGate(t *testing.T, table []language, g *gate, l string) {
	t.Helper()
	if l == "" {
		return
	}
	mask := g.asks(l)
	for k, lang := range table {
		if mask&(1<<k) == 0 && lang.begins(l) {
			t.Errorf("%s begins at %q, which has none of its signs", lang.name, l)
		}
	}
}

func TestGateKeepsNothingBack(t *testing.T) {
	table := languages()
	if len(table) > 32 {
		t.Fatalf("%d languages, and a gate for 32", len(table))
	}
	for _, lang := range table {
		for _, s := range lang.signs {
			if len(s) < signLen {
				t.Errorf("%s: the sign %q is too short", lang.name, s)
			}
		}
	}
	g := newGate(table)
	paths, err := filepath.Glob(filepath.Join("testdata", "*", "*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for _, l := range append(clean(b).lines, strings.Split(string(b), "\n")...) {
			checkGate(t, table, g, l)
		}
	}
}

func FuzzGate(f *testing.F) {
	table := languages()
	g := newGate(table)
	for _, lang := range table {
		for _, s := range lang.signs {
			f.Add("a: " + s + "x")
		}
	}
	f.Fuzz(func(t *testing.T, l string) { checkGate(t, table, g, l) })
}

// What is read is the same with a gate and without.
func TestGateChangesNothing(t *testing.T) {
	for _, s := range typical() {
		small, err := ParseBytes(s.text)
		if err != nil {
			t.Fatal(err)
		}
		large, err := ParseBytes(append(plainLog(gateFrom), append([]byte("\n"), s.text...)...))
		if err != nil || small.Group != large.Group {
			t.Errorf("%s: behind a log it is %s (%v), alone %s", s.name, brief(large), err, brief(small))
		}
	}
}
