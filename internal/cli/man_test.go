package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The manual has every command, argument and flag, and only requests that man knows.
func TestTheManualIsWhole(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man")
	if _, errs, code := run(t, "man", dir); code != 0 {
		t.Fatal(code, errs)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	top := read("bezoar.1")
	for _, n := range leaves(t) {
		if n.Hidden {
			continue
		}
		noun := n
		for noun.Parent.Parent != nil {
			noun = noun.Parent
		}
		page := read("bezoar-" + noun.Name + ".1")
		wanted := []string{escaped(n.FullPath())}
		for _, f := range n.Flags {
			wanted = append(wanted, escaped("--"+f.Name))
		}
		for _, p := range n.Arguments {
			wanted = append(wanted, `.B "`+escaped(p.Summary()))
		}
		for _, want := range wanted {
			if !strings.Contains(page, want) {
				t.Errorf("bezoar-%s.1 has no %s", noun.Name, want)
			}
		}
		if !strings.Contains(top, `.B "`+escaped("bezoar-"+noun.Name)) {
			t.Errorf("bezoar.1 does not name %s", noun.Name)
		}
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range pages {
		for line := range strings.Lines(read(filepath.Base(page))) {
			request, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") && !strings.Contains(" .TH .SH .SS .PP .TP .B .br ", " "+request+" ") {
				t.Errorf("%s has the request %s", page, line)
			}
		}
	}
	if groff, err := exec.LookPath("groff"); err == nil {
		out, err := exec.CommandContext(t.Context(), groff, append([]string{"-man", "-Tutf8", "-ww", "-z"}, pages...)...).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("groff says %.500s, %v", out, err)
		}
	}
}

func TestRoffPrintsTextAsItIs(t *testing.T) {
	var r roff
	r.text(".env and \\d\n\n'quoted' --flag")
	if want := "\\&.env and \\ed\n.PP\n\\&'quoted' \\-\\-flag\n"; r.String() != want {
		t.Errorf("got %q, want %q", r.String(), want)
	}
}
