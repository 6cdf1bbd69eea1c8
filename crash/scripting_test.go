package crash

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTracesOfPython(t *testing.T) { testTraces(t, "python") }
func TestTracesOfRuby(t *testing.T)   { testTraces(t, "ruby") }
func TestTracesOfPHP(t *testing.T)    { testTraces(t, "php") }

// Perl, Lua and R, which have no more than a file each.
func TestTracesOfScripts(t *testing.T) { testTraces(t, "scripts") }

// FuzzScripting breaks traces anywhere: no reader panics, stands still, or
// answers with an empty chain.
func FuzzScripting(f *testing.F) {
	for _, folder := range []string{"python", "ruby", "php", "scripts"} {
		files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txt"))
		if err != nil || len(files) == 0 {
			f.Fatalf("no traces in %s: %v", folder, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(b))
		}
	}
	table := []language{php(), ruby(), python(), perl(), lua(), rlang()}
	f.Fuzz(func(t *testing.T, s string) {
		lines := strings.Split(s, "\n")
		for i := range lines {
			for _, l := range table {
				if !l.begins(lines[i]) {
					continue
				}
				tr, next, ok := l.read(lines, i)
				if !ok {
					continue
				}
				if next <= i || next > len(lines) || len(tr.chain) == 0 {
					t.Fatalf("%s read lines %d to %d of %d with %d exceptions", l.name, i, next, len(lines), len(tr.chain))
				}
				for _, e := range tr.chain {
					for _, fr := range e.frames {
						l.library(fr)
						if l.ignore != nil {
							l.ignore(fr)
						}
						if l.canonical != nil {
							l.canonical(fr)
						}
					}
					if l.vague != nil {
						l.vague(e.typ)
					}
					if l.kind != nil {
						l.kind(e)
					}
				}
			}
		}
	})
}
