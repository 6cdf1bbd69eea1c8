package arch

import (
	"fmt"
	"slices"
)

// heightOf returns the layer of a folder; the longest pattern that fits wins.
func heightOf(dir string, table []layer) (layer, bool) {
	best, found := layer{}, false
	for _, l := range table {
		if matches(l.pattern, dir) && (!found || len(l.pattern) > len(best.pattern)) {
			best, found = l, true
		}
	}
	return best, found
}

// checkHeights wants every package placed and every import to lead down.
func checkHeights(p *pkg, _ *reasons) (out []string) {
	if _, ok := testOnly()[p.dir]; ok {
		return nil
	}
	from, ok := heightOf(p.dir, layers())
	if !ok {
		return []string{p.dir + ": this package has no height; give it one in internal/test/arch/layers_test.go"}
	}
	for _, f := range p.prod() {
		for _, imp := range f.imports {
			dir, ours := inModule(imp)
			if !ours {
				continue
			}
			if why, ok := testOnly()[dir]; ok {
				out = append(out, fmt.Sprintf("%s: imports %s, which is for tests only (%s)", f.path, dir, why))
				continue
			}
			to, ok := heightOf(dir, layers())
			allowed := slices.ContainsFunc(edges(), func(e edge) bool { return matches(e.from, p.dir) && matches(e.to, dir) })
			if ok && to.height >= from.height && !allowed {
				out = append(out, fmt.Sprintf("%s (%s, height %d) imports %s (%s, height %d): imports lead down only",
					f.path, from.job, from.height, dir, to.job, to.height))
			}
		}
	}
	return out
}

// checkBans wants no forbidden import in what goes into a binary.
func checkBans(p *pkg, _ *reasons) (out []string) {
	if _, ok := testOnly()[p.dir]; ok {
		return nil
	}
	for _, f := range p.prod() {
		for _, imp := range f.imports {
			for _, b := range bans() {
				excepted := slices.ContainsFunc(b.except, func(e string) bool { return matches(e, p.dir) })
				if matches(b.from, p.dir) && importMatches(b.to, imp) && !excepted {
					out = append(out, fmt.Sprintf("%s imports %s: %s", f.path, imp, b.why))
				}
			}
		}
	}
	return out
}
