package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// As the first process of a PID namespace, which is what a container's entry point
// is, Bezoar collects orphans of its workers: 40 of a server in Python behind a
// shell. A signal reaches it, and its exit code comes out. A listening socket that
// it was given is Bezoar's.
func TestTheFirstProcessCollectsOrphans(t *testing.T) {
	for _, program := range []string{"unshare", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("needs " + program)
		}
	}
	if out, err := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "true").CombinedOutput(); err != nil {
		t.Skipf("needs the right to make a PID namespace: %v, %s", err, out)
	}
	path, err := exec.LookPath("bezoar")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bezoar.yaml")
	settings := `
listen: 127.0.0.1:0
admin: ""
store: "memory:"
fleets:
  app:
    replicas: 1
    command: [sh, -c, 'for i in 1 2 3 4 5 6 7 8; do (sleep 0 & sleep 0 & sleep 0 & sleep 0 & sleep 0 &); done; exec python3 -m http.server --bind 127.0.0.1 "$PORT"']
routes: [{match: {path: /*}, fleet: app}]
`
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", path, "serve", "-c", file)
	ln, socket := listening(t)
	cmd.ExtraFiles = []*os.File{socket}
	cmd.Env = append(os.Environ(), "LISTEN_PID=1", "LISTEN_FDS=1", "LISTEN_FDNAMES=http")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	addr := ""
	sc := bufio.NewScanner(stderr)
	for addr == "" && sc.Scan() {
		addr, _ = strings.CutPrefix(sc.Text(), "bezoar: serving on http://")
		if addr == sc.Text() {
			addr = ""
		}
	}
	if at := ln.Addr().String(); addr != at {
		t.Errorf("it serves on %s, not on the socket that it was given, %s", addr, at)
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for sc.Scan() {
		}
	}()
	eventually(t, "the server answers", func() bool {
		resp, err := http.Get("http://" + addr + "/")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	first := childrenOf(t, cmd.Process.Pid)
	if len(first) != 1 {
		t.Fatalf("unshare has the children %v", first)
	}
	eventually(t, "the first process has one child left", func() bool { return len(childrenOf(t, first[0])) == 1 })
	if err := syscall.Kill(first[0], syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-drained
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// childrenOf returns the children of a process, zombies included.
func childrenOf(t *testing.T, parent int) (pids []int) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		var state string
		var ppid int
		rest := string(b[strings.LastIndexByte(string(b), ')')+1:])
		if _, err := fmt.Sscan(rest, &state, &ppid); err == nil && ppid == parent {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			pids = append(pids, pid)
		}
	}
	return pids
}
