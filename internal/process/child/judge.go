package child

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// Exit codes with a meaning in sysexits.h and in shells.
const (
	exitTempFail   = 75
	exitDataErr    = 65
	exitNoExec     = 126
	exitNoCommand  = 127
	stderrOfNobody = 1 << 10 // most bytes that a launcher writes if it finds no program
)

// death is everything known about the end of a process.
type death struct {
	status    syscall.WaitStatus
	lost      error // why the status is unknown
	asked     *stop // our own stop; nil: none
	drained   bool  // this process was asked to stop right after
	oomKills  int64 // counted by the kernel in the job's own group
	cpu       time.Duration
	memory    int64
	cpuLimit  time.Duration
	command   []string
	stderr    []byte
	report    *Report
	reportErr error
}

// judge classifies a death. The package comment gives the order of the rules.
func judge(d death) Result {
	res := Result{
		Detail: proc.Describe(d.status), ExitCode: -1, CPU: d.cpu,
		Report: d.report, ReportErr: d.reportErr, Stderr: d.stderr,
	}
	sig := proc.FatalSignal(d.status)
	if d.status.Exited() {
		res.ExitCode = d.status.ExitStatus()
	}
	if sig != 0 {
		res.Signal = proc.SignalName(sig)
	}
	switch {
	case d.lost != nil:
		res.Class, res.Err, res.ExitCode = bezoar.Crash, d.lost, -1
		res.Detail, res.Unexplained = "its end is unknown: "+d.lost.Error(), true
	case d.asked != nil && d.asked.class == bezoar.OOM && sig == syscall.SIGKILL:
		res.Class, res.Detail = bezoar.OOM, "killed: "+d.asked.why+proc.OutOfMemory(d.memory)
	case d.oomKills > 0 && res.ExitCode != 0:
		res.Class = bezoar.OOM
		res.Detail += proc.OutOfMemory(d.memory)
	case d.asked != nil && d.asked.class != bezoar.OOM:
		d.judgeStopped(&res)
	case sig != 0:
		d.judgeSignal(&res, sig)
	default:
		d.judgeExit(&res)
	}
	return res
}

// judgeStopped classifies the end of a job that we asked to stop. A preempted job may still have finished. A job that was
// overdue must report success explicitly: many programs exit with code 0 on SIGTERM, and their work would be lost.
func (d death) judgeStopped(res *Result) {
	ended := res.Detail
	if d.asked.forced {
		ended += ", after it ignored SIGTERM"
	}
	saidDone := res.ExitCode == 0 && d.report != nil && d.report.Class == bezoar.Done.String()
	switch {
	case saidDone:
		res.Class, res.Detail = bezoar.Done, "done after all: "+d.asked.why
	case d.asked.class == bezoar.Timeout || !d.reachedAnEnd(res.ExitCode):
		res.Class, res.Detail = d.asked.class, d.asked.why+": "+ended
	default:
		d.judgeExit(res)
	}
}

// reachedAnEnd reports whether a job that was asked to stop still finished by itself. Any other exit code may be its
// reaction to the signal.
func (d death) reachedAnEnd(code int) bool {
	return code == 0 || code == exitTempFail || code == exitDataErr || code > 0 && d.report != nil && d.report.Class != ""
}

// judgeSignal classifies a death by a signal that we did not send.
func (d death) judgeSignal(res *Result, sig syscall.Signal) {
	res.Class = bezoar.Crash
	switch {
	case d.cpuLimit > 0 && (sig == sigXCPU || sig == syscall.SIGKILL && d.cpu >= d.cpuLimit):
		res.Class = bezoar.Timeout
		res.Detail += fmt.Sprintf(" (it used up its %v of processor time)", d.cpuLimit)
	case d.memory > 0 && proc.RanOutOfMemory(lastLines(d.stderr)):
		res.Class = bezoar.OOM
		res.Detail += proc.OutOfMemory(d.memory)
	case sig == syscall.SIGKILL:
		res.Unexplained = true
		res.Detail += ": unexplained SIGKILL"
	case d.drained:
		res.Class = bezoar.Interrupted
		res.Detail += ": stopped together with Bezoar"
	}
}

// judgeExit classifies an exit code together with the child's report.
func (d death) judgeExit(res *Result) {
	switch res.ExitCode {
	case 0:
		res.Class = bezoar.Done
		if d.reportErr != nil { // it had a report, which may have said that it is not done
			res.Class = bezoar.Bug
			res.Detail += ", and " + d.reportErr.Error()
		}
	case exitTempFail:
		res.Class = bezoar.Transient
	case exitDataErr:
		res.Class = bezoar.Invalid
	default:
		res.Class = bezoar.Bug
		switch {
		case d.foundNoCommand(res.ExitCode):
			res.Class = bezoar.SpawnFailed
			res.Err = fmt.Errorf("start %s: %s", d.command[0], strings.TrimSpace(string(d.stderr)))
			res.Detail = res.Err.Error()
			return
		case d.memory > 0 && proc.RanOutOfMemory(lastLines(d.stderr)):
			res.Class = bezoar.OOM
			res.Detail += proc.OutOfMemory(d.memory)
			return
		}
	}
	if d.report == nil || d.report.Class == "" {
		return
	}
	var said bezoar.Class
	if said.UnmarshalText([]byte(d.report.Class)) != nil || said == bezoar.Done && res.ExitCode != 0 {
		return // a report cannot turn a failing exit code into success
	}
	res.Class = said
}

// stoppedByOther reports whether another process has asked this one to end.
func (d death) stoppedByOther() bool {
	switch proc.FatalSignal(d.status) {
	case syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP:
		return d.asked == nil
	}
	return false
}

// foundNoCommand reports whether exit code 126 or 127 came from a launcher that found no program to start: env, or a shell
// with one plain command. A script whose last command is missing for some jobs ends with the same code; it does not count.
func (d death) foundNoCommand(code int) bool {
	if code != exitNoExec && code != exitNoCommand || len(d.stderr) > stderrOfNobody {
		return false
	}
	line, rest, _ := bytes.Cut(bytes.TrimSpace(d.stderr), []byte("\n"))
	if len(rest) > 0 {
		return false
	}
	who, _, _ := strings.Cut(string(line), ":")
	switch launcher := filepath.Base(d.command[0]); launcher {
	case "sh", "bash", "dash", "ash", "zsh", "ksh":
		return len(d.command) >= 3 && d.command[1] == "-c" && !strings.ContainsAny(d.command[2], shellSyntax) &&
			filepath.Base(who) == launcher
	default:
		// This includes env in a script's first line.
		return who == "env" || who == "/usr/bin/env" || filepath.Base(who) == launcher && launches(launcher)
	}
}

// shellSyntax holds the characters that make a shell's command depend on more than its own text.
const shellSyntax = "$`;|&()<>*?[]{}~!\\\"'#\n"

func launches(name string) bool {
	switch name {
	case "env", "nice", "ionice", "nohup", "setsid", "stdbuf", "timeout", "taskset", "chrt":
		return true
	}
	return false
}

// lastLines returns the lines of the end of an output.
func lastLines(b []byte) []string {
	const enough = 16 << 10
	return strings.Split(string(b[max(0, len(b)-enough):]), "\n")
}

// parseSaid reads what was written to the descriptor for reports.
func parseSaid(b []byte) (*Report, error) {
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, nil
	}
	return ParseReport(b)
}
