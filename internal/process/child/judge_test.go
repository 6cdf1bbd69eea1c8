package child

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Wait statuses as the kernel writes them.
func exited(code int) syscall.WaitStatus              { return syscall.WaitStatus(code << 8) }
func signalled(sig syscall.Signal) syscall.WaitStatus { return syscall.WaitStatus(sig) }

func says(class string) *Report { return &Report{Class: class} }

func TestJudge(t *testing.T) {
	overdue, drained := &stop{class: bezoar.Timeout, why: "stopped after 5m0s"}, &stop{class: bezoar.Interrupted, why: "drained"}
	env, plain := []string{"env", "x"}, []string{"sh", "-c", "x --flag"}
	for _, c := range []struct {
		name   string
		d      death
		class  bezoar.Class
		detail string
	}{
		{"exit 0", death{status: exited(0)}, bezoar.Done, "exit code 0"},
		{"exit 1", death{status: exited(1)}, bezoar.Bug, "exit code 1"},
		{"exit 75", death{status: exited(75)}, bezoar.Transient, ""},
		{"exit 65", death{status: exited(65)}, bezoar.Invalid, ""},
		{"exit 200", death{status: exited(200)}, bezoar.Bug, ""},
		{"core dump", death{status: signalled(syscall.SIGABRT) | 0x80}, bezoar.Crash, "signal: aborted (core dumped)"},
		{"139", death{status: exited(139)}, bezoar.Crash, "as shells report SIGSEGV"},
		{"139 with a report", death{status: exited(139), report: says("invalid")}, bezoar.Crash, ""},
		{"SIGKILL", death{status: signalled(syscall.SIGKILL)}, bezoar.Crash, "unexplained SIGKILL"},
		{"137", death{status: exited(137)}, bezoar.Crash, "unexplained SIGKILL"},
		{"SIGKILL, counted", death{status: signalled(syscall.SIGKILL), oomKills: 1, memory: 64 << 20}, bezoar.OOM, "(out of memory, limit 64 MiB)"},
		{"a child of it counted", death{status: exited(1), oomKills: 1, memory: 100}, bezoar.OOM, "exit code 1 (out of memory, limit 100 bytes)"},
		{"counted, and coped with", death{status: exited(0), oomKills: 1}, bezoar.Done, ""},
		{"counted, with a report", death{status: exited(1), oomKills: 1, report: says("transient")}, bezoar.OOM, ""},
		{"counted, then overdue", death{status: signalled(syscall.SIGTERM), oomKills: 1, asked: overdue}, bezoar.OOM, ""},
		{"looked at", death{status: signalled(syscall.SIGKILL), asked: &stop{class: bezoar.OOM, why: "70 MiB resident"}}, bezoar.OOM, "killed: 70 MiB resident"},
		{"looked at too late", death{status: exited(3), asked: &stop{class: bezoar.OOM, why: "70 MiB resident"}}, bezoar.Bug, "exit code 3"},
		{"its words, limited", death{status: exited(1), memory: 1 << 30, stderr: []byte("x\nMemoryError\n")}, bezoar.OOM, "out of memory"},
		{"its words, not limited", death{status: exited(1), stderr: []byte("x\nMemoryError\n")}, bezoar.Bug, ""},
		{"aborts with its words", death{status: signalled(syscall.SIGABRT), memory: 1 << 30, stderr: []byte("what():  std::bad_alloc\n")}, bezoar.OOM, ""},
		{"overdue", death{status: signalled(syscall.SIGTERM), asked: overdue}, bezoar.Timeout, "stopped after 5m0s: signal: terminated"},
		{"overdue, exit 0", death{status: exited(0), asked: overdue}, bezoar.Timeout, ""},
		{"overdue, says it is done", death{status: exited(0), asked: overdue, report: says("done")}, bezoar.Done, "done after all"},
		{"overdue, says invalid", death{status: exited(1), asked: overdue, report: says("invalid")}, bezoar.Timeout, ""},
		{"drained", death{status: signalled(syscall.SIGTERM), asked: drained}, bezoar.Interrupted, "drained: signal: terminated"},
		{"drained by force", death{status: signalled(syscall.SIGKILL), asked: &stop{class: bezoar.Interrupted, why: "drained", forced: true}}, bezoar.Interrupted, "ignored SIGTERM"},
		{"drained, exit 0", death{status: exited(0), asked: drained}, bezoar.Done, ""},
		{"drained, exit 1", death{status: exited(1), asked: drained}, bezoar.Interrupted, ""},
		{"drained, exit 65", death{status: exited(65), asked: drained}, bezoar.Invalid, ""},
		{"drained, says invalid", death{status: exited(1), asked: drained, report: says("invalid")}, bezoar.Invalid, ""},
		{"drained, died of it", death{status: signalled(syscall.SIGSEGV), asked: drained}, bezoar.Interrupted, ""},
		{"SIGTERM of another", death{status: signalled(syscall.SIGTERM)}, bezoar.Crash, ""},
		{"SIGTERM for all", death{status: signalled(syscall.SIGTERM), drained: true}, bezoar.Interrupted, "together with Bezoar"},
		{"SIGXCPU", death{status: signalled(syscall.SIGXCPU), cpuLimit: time.Second}, bezoar.Timeout, "its 1s of processor time"},
		{"152", death{status: exited(152), cpuLimit: time.Second}, bezoar.Timeout, ""},
		{"SIGXCPU, not limited", death{status: signalled(syscall.SIGXCPU)}, bezoar.Crash, ""},
		{"SIGKILL at the limit", death{status: signalled(syscall.SIGKILL), cpuLimit: time.Second, cpu: 2 * time.Second}, bezoar.Timeout, ""},
		{"SIGKILL before the limit", death{status: signalled(syscall.SIGKILL), cpuLimit: time.Second, cpu: time.Millisecond}, bezoar.Crash, ""},
		{"says outage", death{status: exited(1), report: says("outage")}, bezoar.Outage, ""},
		{"says crash", death{status: exited(1), report: says("crash")}, bezoar.Crash, ""},
		{"says what nobody understands", death{status: exited(0), reportErr: errors.New("report: too long")}, bezoar.Bug, "exit code 0, and report: too long"},
		{"fails, and is not understood", death{status: exited(75), reportErr: errors.New("report: too long")}, bezoar.Transient, "exit code 75"},
		{"drained, and is not understood", death{status: exited(0), asked: drained, reportErr: errors.New("report: too long")}, bezoar.Bug, ""},
		{"says nothing of its class", death{status: exited(75), report: &Report{Reason: "x"}}, bezoar.Transient, ""},
		{"env without a command", death{status: exited(127), command: env, stderr: []byte("env: ‘x’: No such file or directory\n")}, bezoar.SpawnFailed, "start env: env: ‘x’"},
		{"a script's env", death{status: exited(127), command: []string{"./x"}, stderr: []byte("/usr/bin/env: ‘y’: No such file\n")}, bezoar.SpawnFailed, ""},
		{"what env started", death{status: exited(127), command: env, stderr: []byte("x: y: not found\n")}, bezoar.Bug, ""},
		{"env, and more", death{status: exited(127), command: env, stderr: []byte("env: x\nmore\n")}, bezoar.Bug, ""},
		{"a shell's only command", death{status: exited(127), command: plain, stderr: []byte("sh: 1: x: not found\n")}, bezoar.SpawnFailed, ""},
		{"a shell's script", death{status: exited(127), command: []string{"sh", "-c", "read x; $x"}, stderr: []byte("sh: 1: x: not found\n")}, bezoar.Bug, ""},
		{"a shell's file", death{status: exited(127), command: []string{"sh", "file"}, stderr: []byte("sh: 1: x: not found\n")}, bezoar.Bug, ""},
		{"lost", death{lost: errors.New("no child")}, bezoar.Crash, "its end is unknown"},
	} {
		res := judge(c.d)
		if res.Class != c.class || !strings.Contains(res.Detail, c.detail) {
			t.Errorf("%s: %v, %q; want %v, %q", c.name, res.Class, res.Detail, c.class, c.detail)
		}
		if (res.ExitCode >= 0) != (c.d.status.Exited() && c.d.lost == nil) {
			t.Errorf("%s: exit code %d", c.name, res.ExitCode)
		}
		if want := c.class == bezoar.Crash && (strings.Contains(res.Detail, "unexplained") || c.d.lost != nil); res.Unexplained != want {
			t.Errorf("%s: unexplained %v", c.name, res.Unexplained)
		}
	}
}
