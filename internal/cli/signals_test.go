package cli

import (
	"bufio"
	"os/exec"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// sendSignals runs "signals MODE": a serving command that gets the signals of
// the mode, each after the line that says it may.
func sendSignals(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: signals once|twice")
	}
	path, err := exec.LookPath("bezoar")
	ts.Check(err)
	cmd := exec.Command(path, "run", "--store", "memory:", "--worker", "http://127.0.0.1:1", "--worker", "http://127.0.0.1:2")
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
	var seen []string
	for sc := bufio.NewScanner(out); sc.Scan(); {
		seen = append(seen, sc.Text())
		if sig, ok := send[sc.Text()]; ok {
			ts.Check(cmd.Process.Signal(sig))
		}
	}
	_ = cmd.Wait()
	ts.Logf("stdout %q, stderr %q, exit code %d", seen, stderr.String(), cmd.ProcessState.ExitCode())
	want := map[string]int{"once": exitOK, "twice": exitInterrupted}[args[0]]
	if got := strings.Join(seen, " "); got != "ready restarted drained" || cmd.ProcessState.ExitCode() != want {
		ts.Fatalf("want ready, restarted, drained and exit code %d", want)
	}
}
