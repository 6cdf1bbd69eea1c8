package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link     = regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]*)?\)`)
	unlinked = regexp.MustCompile(`[^\pL\pN _-]+`) // what the anchor of a title is without
	fenced   = regexp.MustCompile("(?ms)^```.*?^```$")
	// mention is a guide that code, manifests and rules name.
	mention = regexp.MustCompile(`\b(docs/[a-z0-9-]+\.md)(#[a-z0-9-]+)?`)
)

const ours = "https://github.com/bezoar-dev/bezoar/" // whose pages are those of the checkout

// page is one file of prose: what it says beside its code, and its anchors.
type page struct {
	text    string
	anchors map[string]bool
}

// files are all files of the repository whose names end in one of the suffixes.
func files(t *testing.T, suffixes ...string) (names []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS("../.."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "node_modules" || d.Name() == "testdata"):
			return fs.SkipDir
		}
		for _, s := range suffixes {
			if strings.HasSuffix(name, s) {
				names = append(names, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func pages(t *testing.T) map[string]page {
	t.Helper()
	out := map[string]page{}
	for _, name := range files(t, ".md") {
		text := fenced.ReplaceAllString(read(t, name), "")
		p := page{text, map[string]bool{"": true}}
		for line := range strings.Lines(text) {
			if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
				title = unlinked.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
				p.anchors["#"+strings.ReplaceAll(title, " ", "-")] = true
			}
		}
		out[name] = p
	}
	if len(out) < 50 {
		t.Fatalf("there are %d pages", len(out))
	}
	return out
}

// Links between pages, to their titles, and to code lead somewhere. So do links to
// the repository's own pages on the web.
func TestLinksLeadSomewhere(t *testing.T) {
	all := pages(t)
	for name, p := range all {
		for _, m := range link.FindAllStringSubmatch(p.text, -1) {
			to := path.Join(path.Dir(name), m[1])
			_, onWeb, is := strings.Cut(m[1], ours)
			switch {
			case m[1] == "":
				to = name
			case is:
				to = strings.TrimPrefix(strings.TrimPrefix(onWeb, "blob/main/"), "tree/main/")
			case strings.Contains(m[1], "://"):
				continue
			}
			if _, err := os.Stat(filepath.Join("../..", to)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if target, ok := all[to]; ok && !target.anchors[m[2]] {
				t.Errorf("%s: nothing in %s has the title of %s", name, to, m[2])
			}
		}
	}
}

// What code, help, rules and manifests name as a guide is there.
func TestNamedGuidesAreThere(t *testing.T) {
	all, n := pages(t), 0
	for _, name := range files(t, ".go", ".yaml", ".json", ".service", ".sh", "Makefile") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, m := range mention.FindAllStringSubmatch(read(t, name), -1) {
			n++
			if target, ok := all[m[1]]; !ok || !target.anchors[m[2]] {
				t.Errorf("%s names %s, which is not there", name, m[0])
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d guides are named", n)
	}
}

// The index has every guide.
func TestTheIndexHasEveryGuide(t *testing.T) {
	index := read(t, "docs/README.md")
	for name := range pages(t) {
		if dir, base := path.Split(name); dir == "docs/" && base != "README.md" && !strings.Contains(index, "]("+base+")") {
			t.Errorf("docs/README.md has no link to %s", base)
		}
	}
}
