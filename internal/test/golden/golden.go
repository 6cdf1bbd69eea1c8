package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A flag has to be registered before the test binary parses its arguments, so
// this is one of the few package-level variables of the module.
var update = flag.Bool("update", false, "rewrite the golden files under testdata")

// Updating reports whether golden files are to be rewritten.
func Updating() bool { return *update }

// Equal fails t unless got is the content of testdata/name.
func Equal(t testing.TB, name string, got []byte) {
	t.Helper()
	File(t, filepath.Join("testdata", filepath.FromSlash(name)), got)
}

// File fails t unless got is the content of the file.
func File(t testing.TB, path string, got []byte) {
	t.Helper()
	if Updating() {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run the test with -update to write it)", err)
	}
	if string(want) != string(got) {
		t.Errorf("%s differs (run the test with -update to accept):\n%s", path, diff(string(want), string(got)))
	}
}

// diff lists the lines around the first difference, which is what people look
// for; the whole of both is in the files.
func diff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	first := 0
	for first < len(w) && first < len(g) && w[first] == g[first] {
		first++
	}
	var b strings.Builder
	for i := max(0, first-2); i < first; i++ {
		b.WriteString("  " + w[i] + "\n")
	}
	for i := first; i < min(first+5, len(w)); i++ {
		b.WriteString("- " + w[i] + "\n")
	}
	for i := first; i < min(first+5, len(g)); i++ {
		b.WriteString("+ " + g[i] + "\n")
	}
	return b.String()
}
