package app_test

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for something that ends by itself, on machines that
// are busy with other tests.
const patience = 2 * time.Minute

// ended waits for a Run in this process, which was told to end.
func ended(done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		stacks := make([]byte, 1<<20)
		return fmt.Errorf("it has not ended within %v:\n%s", patience, stacks[:runtime.Stack(stacks, true)])
	}
}

// reap waits for a process that was told to end. One that does not has to say
// what it does instead, and dies.
func reap(t *testing.T, cmd *exec.Cmd) error {
	t.Helper()
	stuck := hurry(cmd)
	err := cmd.Wait()
	if !stuck.Stop() {
		t.Errorf("process %d had not ended after %v", cmd.Process.Pid, patience)
	}
	return err
}

// hurry has a process say what all its goroutines do, and die, unless the timer
// that it returns is stopped in time.
func hurry(cmd *exec.Cmd) *time.Timer {
	return time.AfterFunc(patience, func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT)
		time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
	})
}

// firstLine reads what a child says when it has started.
func firstLine(cmd *exec.Cmd, out io.Reader) (string, error) {
	stuck := hurry(cmd)
	defer stuck.Stop()
	return bufio.NewReader(out).ReadString('\n')
}

// look shows what a child logged if the test failed. It fails the test if the
// race detector saw something in the child, which says so there alone.
func look(t *testing.T, log *syncBuffer) {
	t.Helper()
	said := log.String()
	if strings.Contains(said, "WARNING: DATA RACE") {
		t.Error("a data race in the process")
	}
	if t.Failed() {
		t.Log(said)
	}
}
