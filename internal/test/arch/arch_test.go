package arch

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

// check is one rule, applied to one package at a time.
type check struct {
	name string
	run  func(*pkg, *reasons) []string
}

func checks() []check {
	return []check{
		{"Heights", checkHeights},
		{"Bans", checkBans},
		{"Purity", checkPurity},
		{"Sizes", checkSizes},
		{"Docs", checkDocs},
		{"Init", checkInit},
		{"Globals", checkGlobals},
	}
}

func TestTheModuleKeepsItsRules(t *testing.T) {
	pkgs, err := load(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			for _, p := range pkgs {
				for _, broken := range c.run(p, newReasons()) {
					t.Error(broken)
				}
			}
		})
	}
}

func TestEveryExceptionIsNeeded(t *testing.T) {
	pkgs, err := load(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	why := newReasons()
	for _, c := range checks() {
		for _, p := range pkgs {
			c.run(p, why)
		}
	}
	for _, e := range exceptions() {
		if !why.used[e] {
			t.Errorf("exception %s %s is not needed any more: remove it", e.rule, e.what)
		}
	}
}

// TestEveryLayerIsThere fails on layers and edges of packages that do not exist,
// and on edges that no import needs.
func TestEveryLayerIsThere(t *testing.T) {
	pkgs, err := load(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	imports := map[edge]bool{}
	for _, l := range layers() {
		if !slices.ContainsFunc(pkgs, func(p *pkg) bool { return matches(l.pattern, p.dir) }) {
			t.Errorf("layer %s is of no package", l.pattern)
		}
	}
	for _, p := range pkgs {
		for _, f := range p.prod() {
			for _, imp := range f.imports {
				if dir, ours := inModule(imp); ours {
					imports[edge{from: p.dir, to: dir}] = true
				}
			}
		}
	}
	for _, e := range edges() {
		needed := false
		for i := range imports {
			needed = needed || matches(e.from, i.from) && matches(e.to, i.to)
		}
		if !needed {
			t.Errorf("edge %s → %s is not needed any more: remove it", e.from, e.to)
		}
	}
}

func TestEveryEntryHasAReason(t *testing.T) {
	for _, l := range layers() {
		if l.job == "" {
			t.Errorf("layer %s says no job", l.pattern)
		}
	}
	for _, e := range edges() {
		if e.why == "" {
			t.Errorf("edge %s → %s has no reason", e.from, e.to)
		}
	}
	for _, b := range bans() {
		if b.why == "" {
			t.Errorf("ban %s → %s has no reason", b.from, b.to)
		}
	}
	seen := map[string]bool{}
	for _, e := range exceptions() {
		key := fmt.Sprint(e.rule, " ", e.what)
		if e.why == "" || seen[key] {
			t.Errorf("exception %s has no reason, or is there twice", key)
		}
		seen[key] = true
	}
}
