package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The pages are those that the program of this machine writes, in order.
func TestTheManualIsTheProgramsOwn(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	script := "#!/bin/sh\n[ \"$1\" = man ] && echo one >\"$2/b.1\" && echo two >\"$2/a.1\"\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	r := &release{binaries: map[string]string{runtime.GOOS + "_" + runtime.GOARCH: program}}
	pages, err := r.manual()
	if err != nil || len(pages) != 2 || pages[0].name != "usr/share/man/man1/a.1.gz" || pages[0].mode != 0o644 {
		t.Fatalf("%v, %v", pages, err)
	}
	z, err := gzip.NewReader(bytes.NewReader(pages[1].data))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); err != nil || string(text) != "one\n" {
		t.Errorf("the page holds %q, %v", text, err)
	}
	r.binaries = map[string]string{"plan9_mips": program}
	if _, err := r.manual(); err == nil || !strings.Contains(err.Error(), "no binary for this machine") {
		t.Errorf("without a program that runs here: %v", err)
	}
}

func TestThePackageHasTheManual(t *testing.T) {
	folder := files(t)
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("dpkg-deb is not installed")
	}
	list := output(t, "dpkg-deb", "--contents", filepath.Join(folder, "bezoar_"+runtime.GOARCH+".deb"))
	for _, name := range []string{
		"man/man1/bezoar.1.gz", "man/man1/bezoar-serve.1.gz", "man/man1/bezoar-queue.1.gz",
		"bash-completion/completions/bezoar", "fish/vendor_completions.d/bezoar.fish",
	} {
		if !strings.Contains(list, "/usr/share/"+name+"\n") {
			t.Errorf("the package has no %s", name)
		}
	}
}

// The completions are what the program of this machine prints for each shell.
func TestCompletionsAreTheProgramsOwn(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n[ \"$1\" = completion ] && echo \"for $2\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := &release{binaries: map[string]string{runtime.GOOS + "_" + runtime.GOARCH: program}}
	got, err := r.completions()
	if err != nil || len(got) != 2 || string(got[0].data) != "for bash\n" || string(got[1].data) != "for fish\n" {
		t.Fatalf("%v, %v", got, err)
	}
}
