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
	for _, page := range []string{"bezoar.1.gz", "bezoar-serve.1.gz", "bezoar-queue.1.gz"} {
		if !strings.Contains(list, "/usr/share/man/man1/"+page) {
			t.Errorf("the package has no %s", page)
		}
	}
}
