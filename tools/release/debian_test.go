package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// debian returns a fresh Debian: a copy of BEZOAR_DEBIAN, or what debootstrap
// fetches.
func debian(t *testing.T) *root {
	t.Helper()
	needRoot(t)
	r := &root{path: filepath.Join(t.TempDir(), "root"), owner: "bezoar:bezoar"}
	if base := os.Getenv("BEZOAR_DEBIAN"); base != "" {
		output(t, "cp", "--archive", base, r.path)
		return r
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		t.Fatal("debootstrap is not installed: apt-get install debootstrap, or name an unpacked Debian in BEZOAR_DEBIAN")
	}
	output(t, "debootstrap", "--variant=minbase", "bookworm", r.path)
	return r
}

// newer makes the package of a later version.
func newer(t *testing.T, folder string) string {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	r, err := load("../..", folder, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r.version = "1000.0.0"
	if err := r.writePackage(runtime.GOARCH); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(r.out, "bezoar_"+runtime.GOARCH+".deb")
}

// dpkg installs a package.
func (r *root) dpkg(t *testing.T, deb string) {
	t.Helper()
	output(t, "cp", deb, filepath.Join(r.path, "bezoar.deb"))
	r.run(t, "dpkg", "--install", "/bezoar.deb")
}

// shell is a block of commands, whatever the page says beside it.
var shell = regexp.MustCompile("(?ms)^```sh[^\n]*\n(.*?)^```$")

// follow runs, in a folder with the release's files, what docs/install.md says
// below a title.
func (r *root) follow(t *testing.T, folder, title string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## "+title+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	block := shell.FindStringSubmatch(text)
	if block == nil {
		t.Fatalf("docs/install.md has no commands below %q", title)
	}
	if !r.has("release") {
		output(t, "cp", "--recursive", folder, filepath.Join(r.path, "release"))
	}
	r.run(t, "sh", "-ec", "cd /release\n"+strings.ReplaceAll(block[1], "amd64", runtime.GOARCH))
}

// execStart is the command line of the unit.
func execStart(t *testing.T, unit string) []string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^ExecStart=(.+)$`).FindStringSubmatch(unit)
	if found == nil {
		t.Fatalf("no ExecStart in\n%s", unit)
	}
	return strings.Fields(found[1])
}

func TestDebianPackage(t *testing.T) {
	folder := files(t)
	r := debian(t)
	next := newer(t, folder)

	began := time.Now()
	r.follow(t, folder, "Debian and Ubuntu")
	if got := strings.TrimSpace(r.run(t, "stat", "-c", "%U:%G %a", "/var/lib/bezoar")); got != "bezoar:bezoar 750" {
		t.Errorf("/var/lib/bezoar is %s", got)
	}
	if !r.has("etc/systemd/system/multi-user.target.wants/bezoar.service") {
		t.Error("the service is not enabled")
	}
	changed := r.settings(t)
	line := execStart(t, r.text(t, "usr/lib/systemd/system/bezoar.service"))
	stop := r.serve(t, line...)
	r.run(t, "/usr/bin/bezoar", "queue", "send", "jobs", `{"kept": true}`, "--admin", r.admin)
	stop()
	t.Logf("from the package to a message in the queue: %v", time.Since(began).Round(time.Millisecond))

	r.follow(t, folder, "A binary")
	if got, want := r.run(t, "/usr/local/bin/bezoar", "version"), r.run(t, "/usr/bin/bezoar", "version"); got != want {
		t.Errorf("the binary is %s, that of the package %s", got, want)
	}

	// An upgrade keeps settings that were changed, and the state.
	r.dpkg(t, next)
	if got := strings.TrimSpace(r.run(t, "dpkg-query", "--show", "--showformat=${db:Status-Abbrev}${Version}", "bezoar")); got != "ii 1000.0.0" {
		t.Errorf("after the upgrade: %s", got)
	}
	if r.text(t, "etc/bezoar/bezoar.yaml") != changed {
		t.Error("the upgrade lost the settings")
	}
	stop = r.serve(t, line...)
	if n := r.waiting(t); n != "1" {
		t.Errorf("%s messages after the upgrade, want 1", n)
	}
	stop()

	// Removing keeps both; purging deletes them.
	r.run(t, "dpkg", "--remove", "bezoar")
	if r.has("usr/bin/bezoar") || !r.has("etc/bezoar/bezoar.yaml") || !r.has("var/lib/bezoar/bezoar.db") {
		t.Error("remove: the program stays, or settings or state are gone")
	}
	r.run(t, "dpkg", "--purge", "bezoar")
	for _, name := range []string{"etc/bezoar", "var/lib/bezoar", "etc/systemd/system/multi-user.target.wants/bezoar.service", "usr/share/doc/bezoar", "etc/systemd/system/bezoar.service"} {
		if r.has(name) {
			t.Errorf("%s is there after purge", name)
		}
	}
}

// systemd reads the unit without a complaint.
func TestUnit(t *testing.T) {
	folder := files(t)
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	unit, err := os.ReadFile("../../deploy/debian/bezoar.service")
	if err != nil {
		t.Fatal(err)
	}
	program := execStart(t, string(unit))[0]
	binary, err := filepath.Abs(filepath.Join(folder, "bezoar_linux_"+runtime.GOARCH))
	if err != nil {
		t.Fatal(err)
	}
	verify := func(text string) (string, error) {
		path := filepath.Join(t.TempDir(), "bezoar.service")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput()
		return string(out), err
	}
	here := strings.ReplaceAll(string(unit), program, binary)
	if out, err := verify(here); err != nil || strings.Contains(out, "bezoar.service") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := verify(strings.Replace(here, "NoNewPrivileges=yes", "NoNewPrivilege=yes", 1)); err == nil && !strings.Contains(out, "NoNewPrivilege") {
		t.Errorf("systemd-analyze sees no fault in a unit that has one: %s", out)
	}
}
