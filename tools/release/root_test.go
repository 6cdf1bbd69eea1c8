package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// root is a folder with an installed Bezoar, in which commands run by chroot.
type root struct {
	path  string
	owner string // user:group that Bezoar runs as
	admin string // address of the admin API, once settings has chosen it
	proc  bool   // commands see /proc, as workers need it
}

// command is a command inside, as root or as the owner.
func (r *root) command(user string, args ...string) *exec.Cmd {
	line := []string{"chroot"}
	if r.proc { // in a mount namespace of its own, so that nothing stays mounted
		line = []string{"unshare", "--mount", "sh", "-ec", `mount -t proc proc "$0/proc"; exec chroot "$@"`, r.path}
	}
	if user != "" {
		line = append(line, "--userspec="+user)
	}
	line = append(append(line, r.path), args...)
	return exec.Command(line[0], line[1:]...)
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("installed files are tested in a chroot: run it as root")
	}
}

// run runs a command inside, which must succeed.
func (r *root) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := r.command("", args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (r *root) text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.path, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (r *root) has(name string) bool {
	_, err := os.Lstat(filepath.Join(r.path, name))
	return err == nil
}

// settings moves the installed file's addresses to free ports, as an
// administrator would, and returns the text.
func (r *root) settings(t *testing.T) string {
	t.Helper()
	text := r.text(t, "etc/bezoar/bezoar.yaml")
	for _, line := range []string{"admin: 127.0.0.1:7070\n", "sqs: 127.0.0.1:9324\n"} {
		key, _, _ := strings.Cut(line, ":")
		addr := free(t)
		if strings.Count(text, "\n"+line) != 1 {
			t.Fatalf("the installed settings have no line %q", line)
		}
		text = strings.Replace(text, "\n"+line, fmt.Sprintf("\n%s: %s\n", key, addr), 1)
		if key == "admin" {
			r.admin = addr
		}
	}
	if err := os.WriteFile(filepath.Join(r.path, "etc/bezoar/bezoar.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return text
}

func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// serve runs a command line inside as its owner until the returned function has
// stopped it, and returns when it is ready.
func (r *root) serve(t *testing.T, line ...string) (stop func()) {
	t.Helper()
	var log strings.Builder
	cmd := r.command(r.owner, line...)
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	deadline := time.After(2 * time.Minute)
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case err := <-ended:
			t.Fatalf("%v ended: %v\n%s", line, err, log.String())
		case <-deadline:
			t.Fatalf("%v is not ready after two minutes", line)
		case <-tick.C:
		}
		answer, err := http.Get("http://" + r.admin + "/healthz")
		if err != nil {
			continue
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			tick.Stop()
			break
		}
	}
	return func() {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%v after SIGTERM: %v\n%s", line, err, log.String())
			}
		case <-time.After(2 * time.Minute):
			t.Fatalf("%v does not stop", line)
		}
	}
}

var visible = regexp.MustCompile(`"name": "jobs",[^}]*?"visible": (\d+)`)

// waiting is how many messages wait in the queue of the installed settings.
func (r *root) waiting(t *testing.T) string {
	t.Helper()
	out := r.run(t, "/usr/bin/bezoar", "queue", "ls", "--json", "--admin", r.admin)
	found := visible.FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("no queue jobs in %s", out)
	}
	return found[1]
}
