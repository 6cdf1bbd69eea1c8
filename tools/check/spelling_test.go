package check

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/golangci/misspell"
)

// Prose has none of the misspellings that are common. Those of Go are golangci-lint's.
func TestSpelling(t *testing.T) {
	r, n := misspell.New(), 0
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "node_modules" || d.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		case !strings.HasSuffix(name, ".md") && !strings.HasSuffix(name, ".yaml"):
			return nil
		}
		if name == ".golangci.yaml" { // it names words that are spelled wrong on purpose
			return nil
		}
		n++
		_, found := r.Replace(string(file(t, name)))
		for _, f := range found {
			t.Errorf("%s:%d:%d: %q is %q", name, f.Line, f.Column, f.Original, f.Corrected)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 50 {
		t.Errorf("only %d files were read", n)
	}
}
