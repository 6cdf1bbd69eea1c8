package cli

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bezoar-dev/bezoar/internal/control/config"
)

// sendSignals runs "signals MODE": a serving command that gets the signals of
// the mode, each after the line that says it may. In mode deaf nobody reads on
// after the first line.
func sendSignals(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: signals once|twice|delayed|deaf")
	}
	path, err := exec.LookPath("bezoar")
	ts.Check(err)
	cmd := exec.Command(path, "run", "--store", "memory:", "--worker", "http://127.0.0.1:1", "--worker", "http://127.0.0.1:2")
	if args[0] == "delayed" {
		cmd.Args = append(cmd.Args, "--shutdown-delay", "10m")
	}
	cmd.Env = append(cmd.Environ(), "WAIT_FOR_SIGNAL="+args[0])
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()
	send := map[string]syscall.Signal{"ready": syscall.SIGHUP, "restarted": syscall.SIGTERM}
	if args[0] == "twice" {
		send["drained"] = syscall.SIGINT
	}
	switch args[0] {
	case "deaf":
		send["ready"] = syscall.SIGTERM
	case "delayed":
		send["leaving"] = syscall.SIGTERM
	}
	var seen []string
	for sc := bufio.NewScanner(out); sc.Scan(); {
		seen = append(seen, sc.Text())
		if args[0] == "deaf" {
			ts.Check(out.Close())
		}
		if sig, ok := send[sc.Text()]; ok {
			ts.Check(cmd.Process.Signal(sig))
		}
	}
	_ = cmd.Wait()
	ts.Logf("stdout %q, stderr %q, exit code %d", seen, stderr.String(), cmd.ProcessState.ExitCode())
	want := map[string]int{"once": exitOK, "twice": exitInterrupted, "delayed": exitOK, "deaf": exitOK}[args[0]]
	all := "ready restarted drained"
	switch args[0] {
	case "deaf":
		all = "ready"
	case "delayed":
		all = "ready restarted leaving drained"
	}
	if got := strings.Join(seen, " "); got != all || cmd.ProcessState.ExitCode() != want {
		ts.Fatalf("want %s and exit code %d", all, want)
	}
}

// A reload that comes while the settings are read ends nothing, and is not lost.
func TestAnEarlyHangupIsHeeded(t *testing.T) {
	var once sync.Once
	served := false
	code := Main(t.Context(), Process{
		Args:   []string{"--json", "run", "--store", "memory:", "--worker", "http://127.0.0.1:1"},
		Stdout: io.Discard,
		Stderr: io.Discard,
		Getenv: func(string) string { // before anything is served
			once.Do(func() { _ = syscall.Kill(os.Getpid(), syscall.SIGHUP) })
			return ""
		},
		Engine: Engine{Serve: func(ctx context.Context, _ config.Config, s Serving) error {
			select {
			case <-s.Restart:
				served = true
			case <-ctx.Done():
			}
			return nil
		}},
	})
	if code != exitOK || !served {
		t.Errorf("exit code %d, the signal was heeded: %v", code, served)
	}
}
