package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// walker is an administrator who has a fresh Debian and the package: it counts what
// they type.
type walker struct {
	*root
	began    time.Time
	commands int
}

// types runs one command inside.
func (w *walker) types(t *testing.T, args ...string) string {
	t.Helper()
	w.commands++
	return w.run(t, args...)
}

// asks sends one request to the gateway.
func (w *walker) asks(t *testing.T, url string) (status int, body string) {
	t.Helper()
	w.commands++
	res, err := (&http.Client{Timeout: 2 * time.Minute}).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// starts runs Bezoar as the unit does, until all workers are up.
func (w *walker) starts(t *testing.T) (stop func()) {
	t.Helper()
	w.commands += 2 // start it, and look
	stop = w.serve(t, execStart(t, w.text(t, "usr/lib/systemd/system/bezoar.service"))...)
	deadline := time.After(2 * time.Minute)
	for tick := time.NewTicker(200 * time.Millisecond); ; {
		out, err := w.command("", "/usr/bin/bezoar", "fleet", "ls", "--check", "--admin", w.admin).CombinedOutput()
		if err == nil {
			tick.Stop()
			return stop
		}
		select {
		case <-deadline:
			t.Fatalf("the workers are not up after two minutes: %v\n%s", err, out)
		case <-tick.C:
		}
	}
}

// front has the installed settings put Bezoar in front of four Python servers.
func (w *walker) front(t *testing.T) (url string) {
	t.Helper()
	server, err := os.ReadFile("../../examples/python-server/server.py")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(w.path, "srv"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.path, "srv/server.py"), server, 0o644); err != nil {
		t.Fatal(err)
	}
	listen := free(t)
	text := w.settings(t) + fmt.Sprintf(`listen: %s
fleets:
  app:
    command: [python3, /srv/server.py]
    replicas: 4
    health: {path: /healthz}
routes:
  - {match: {path: /*}, fleet: app, quarantine: {for: 1h}}
`, listen)
	if err := os.WriteFile(filepath.Join(w.path, "etc/bezoar/bezoar.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	w.commands += 2 // copy the server, edit the settings
	return "http://" + listen
}

// From a fresh Debian with nothing but the package to a contained request, an upgrade
// that keeps the verdict, and nothing left. The log says how many commands and how
// long it took.
func TestFromNothingToAContainedRequest(t *testing.T) {
	folder := files(t)
	w := &walker{root: debian(t)}
	w.proc = true
	next := newer(t, folder)
	// The server of this walk is in Python, which a minimal Debian does not have.
	if resolv, err := os.ReadFile("/etc/resolv.conf"); err == nil && !w.has("usr/bin/python3") {
		if err := os.WriteFile(filepath.Join(w.path, "etc/resolv.conf"), resolv, 0o644); err != nil {
			t.Fatal(err)
		}
		w.run(t, "sh", "-ec", "apt-get update -qq && apt-get install -y -qq --no-install-recommends python3 >/dev/null")
	}

	w.began = time.Now()
	w.follow(t, folder, "Debian and Ubuntu")
	w.commands++
	url := w.front(t)
	w.types(t, "/usr/bin/bezoar", "config", "check", "/etc/bezoar/bezoar.yaml")
	stop := w.starts(t)
	if status, body := w.asks(t, url+"/search?q=bloodstone"); status != http.StatusOK || body != "bloodstone\n" {
		t.Fatalf("a good request: %d %s", status, body)
	}
	w.asks(t, url+"/crash") // it kills a worker, then the lane
	if status, body := w.asks(t, url+"/crash"); status != http.StatusServiceUnavailable || !strings.Contains(body, "urn:bezoar:problem:quarantined") {
		t.Fatalf("a copy of the poison: %d %s", status, body)
	}
	if status, _ := w.asks(t, url+"/search?q=moonstone"); status != http.StatusOK {
		t.Errorf("a good request after the poison: %d", status)
	}
	if list := w.types(t, "/usr/bin/bezoar", "quarantine", "ls", "--admin", w.admin); !strings.Contains(list, "GET /crash") {
		t.Errorf("the list of verdicts: %s", list)
	}
	t.Logf("from the package to a contained request: %d commands, %v", w.commands, time.Since(w.began).Round(time.Millisecond))

	stop()
	w.dpkg(t, next)
	stop = w.starts(t)
	if status, body := w.asks(t, url+"/crash"); status != http.StatusServiceUnavailable || !strings.Contains(body, "urn:bezoar:problem:quarantined") {
		t.Errorf("the poison after the upgrade: %d %s", status, body)
	}
	if status, body := w.asks(t, url+"/search?q=bloodstone"); status != http.StatusOK || body != "bloodstone\n" {
		t.Errorf("a good request after the upgrade: %d %s", status, body)
	}
	stop()
	w.commands++ // the newer package
	w.types(t, "dpkg", "--remove", "bezoar")
	w.types(t, "dpkg", "--purge", "bezoar")
	for _, name := range []string{"usr/bin/bezoar", "etc/bezoar", "var/lib/bezoar"} {
		if w.has(name) {
			t.Errorf("%s is there after purge", name)
		}
	}
	t.Logf("the whole walk: %d commands, %v", w.commands, time.Since(w.began).Round(time.Millisecond))
}
