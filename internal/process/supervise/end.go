package supervise

import (
	"syscall"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// ask is our request to a life.
type ask int

const (
	nothing   ask = iota
	toStop        // TERM, grace, KILL
	toBeShort     // KILL, because it hangs
	toFit         // KILL, because it uses too much memory
)

// death is everything known about the end of a process.
type death struct {
	status    syscall.WaitStatus
	asked     ask
	why       string // reason of the request
	ready     bool   // it had become ready
	announced bool   // its last health check had failed with an answer
	oomKill   bool   // its memory group counted an out-of-memory kill
	memory    int64  // its limit in bytes; 0: none
	stderr    []string
	at        time.Time
}

// judge classifies a death. The package comment gives the order of the rules.
func judge(d death) fleet.End {
	end := fleet.End{Class: bezoar.Crash, At: d.at, ExitCode: -1, Stderr: d.stderr, Detail: proc.Describe(d.status)}
	sig := proc.FatalSignal(d.status)
	if d.status.Exited() {
		end.ExitCode = d.status.ExitStatus()
	}
	if sig != 0 {
		end.Signal = proc.SignalName(sig)
	}
	switch {
	case d.asked == toStop:
		end.Planned, end.Class, end.Detail = true, bezoar.Interrupted, d.why+": "+end.Detail
	case d.asked == toBeShort && sig == syscall.SIGKILL:
		end.Class, end.Detail = bezoar.Timeout, "killed: "+d.why
		if !d.ready {
			end.Class = bezoar.SpawnFailed
		}
	case d.asked == toFit && sig == syscall.SIGKILL:
		end.Class, end.Detail = bezoar.OOM, "killed: "+d.why+proc.OutOfMemory(d.memory)
		if !d.ready {
			end.Class = bezoar.SpawnFailed
		}
	case !d.ready:
		end.Class, end.Detail = bezoar.SpawnFailed, "it ended before it was ready: "+end.Detail
		if end.ExitCode == 0 {
			end.Detail += " (a server has to stay in the foreground)"
		}
	case sig == syscall.SIGTERM || sig == syscall.SIGINT || sig == syscall.SIGHUP:
		end.Planned, end.Class = true, bezoar.Interrupted
		end.Detail += ": it was stopped from outside"
	case d.announced && end.ExitCode == 0:
		end.Planned, end.Class = true, bezoar.Interrupted
		end.Detail += ", announced by its health check"
	case d.oomKill && sig == syscall.SIGKILL, end.ExitCode != 0 && proc.RanOutOfMemory(d.stderr):
		end.Class = bezoar.OOM
		end.Detail += proc.OutOfMemory(d.memory)
	}
	return end
}
