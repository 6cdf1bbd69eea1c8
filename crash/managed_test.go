package crash

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestManagedFolders reads testdata/<language>/<bug>.<variant>.txt: variants of
// one bug share a Group, and no two bugs do.
func TestManagedFolders(t *testing.T) {
	for _, language := range []string{"java", "node", "dotnet"} {
		t.Run(language, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join("testdata", language, "*.txt"))
			if err != nil || len(files) < 4 {
				t.Fatalf("%d files, %v", len(files), err)
			}
			first := map[string]string{} // bug -> group
			owner := map[string]string{} // group -> bug
			for _, file := range files {
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				r, err := ParseBytes(b)
				if err != nil || r.Language != language {
					t.Errorf("%s: read as %s, %v", file, r.Language, err)
				}
				bug, _, _ := strings.Cut(filepath.Base(file), ".")
				if g, ok := first[bug]; ok && g != r.Group {
					t.Errorf("%s: has another group than its fellows: %s at %s, code %q", file, r.Type, r.Frame, r.Code)
				} else if o, ok := owner[r.Group]; ok && o != bug {
					t.Errorf("%s: has the group of %s: %s at %s, code %q", file, o, r.Type, r.Frame, r.Code)
				}
				first[bug], owner[r.Group] = r.Group, bug
			}
		})
	}
}

// FuzzManaged feeds the readers at every line: they never panic, always
// move on, and a trace has a chain.
func FuzzManaged(f *testing.F) {
	for _, pattern := range []string{"java", "node", "dotnet"} {
		files, err := filepath.Glob(filepath.Join("testdata", pattern, "*.txt"))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(b[:min(len(b), 2000)]))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		for _, l := range []language{java(), node(), dotnet()} {
			for i := range lines {
				if lines[i] == "" || !l.begins(lines[i]) {
					continue
				}
				tr, next, ok := l.read(lines, i)
				if !ok {
					continue
				}
				if next <= i || next > len(lines) || len(tr.chain) == 0 {
					t.Fatalf("%s read %d exceptions from line %d to %d of %d", l.name, len(tr.chain), i, next, len(lines))
				}
				for _, e := range tr.chain {
					for _, fr := range e.frames {
						l.library(fr)
						l.ignore(fr)
						once := l.canonical(fr)
						if again := l.canonical(fr); once != again {
							t.Fatalf("%s is canonical as %v and as %v", fr, once, again)
						}
					}
					if l.kind != nil {
						l.kind(e)
					}
				}
			}
		}
	})
}
