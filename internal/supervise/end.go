package supervise

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/fleet"
)

// ask says what we asked of a life.
type ask int

const (
	nothing   ask = iota
	toStop        // TERM, grace, KILL
	toBeShort     // KILL, because it hangs
	toFit         // KILL, because it holds too much memory
)

// death is everything known about the end of a process.
type death struct {
	status    syscall.WaitStatus
	asked     ask
	why       string // of what was asked
	ready     bool   // it had been ready to serve
	announced bool   // its health check had answered with a failure
	oomKill   bool   // its memory group counted an out-of-memory kill
	memory    int64  // its limit in bytes; 0 none
	stderr    []string
	at        time.Time
}

// judge says whose doing a death was. The package comment gives the order.
func judge(d death) fleet.End {
	end := fleet.End{Class: bezoar.Crash, At: d.at, ExitCode: -1, Stderr: d.stderr, Detail: describe(d.status)}
	sig := fatalSignal(d.status)
	if d.status.Exited() {
		end.ExitCode = d.status.ExitStatus()
	}
	if sig != 0 {
		end.Signal = signalName(sig)
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
		end.Class, end.Detail = bezoar.OOM, "killed: "+d.why+" (out of memory"+limitText(d.memory)+")"
		if !d.ready {
			end.Class = bezoar.SpawnFailed
		}
	case !d.ready:
		end.Class, end.Detail = bezoar.SpawnFailed, "it ended before it was ready: "+end.Detail
	case sig == syscall.SIGTERM || sig == syscall.SIGINT || sig == syscall.SIGHUP:
		end.Planned, end.Class = true, bezoar.Interrupted
		end.Detail += ": somebody stopped it"
	case d.announced && end.ExitCode == 0:
		end.Planned, end.Class = true, bezoar.Interrupted
		end.Detail += ", announced by its health check"
	case d.oomKill && sig == syscall.SIGKILL, end.ExitCode != 0 && ranOutOfMemory(d.stderr):
		end.Class = bezoar.OOM
		end.Detail += " (out of memory" + limitText(d.memory) + ")"
	}
	return end
}

// describe says how a process ended: "exit code 3", "signal: segmentation
// fault (core dumped)".
func describe(ws syscall.WaitStatus) string {
	if !ws.Signaled() {
		text := fmt.Sprintf("exit code %d", ws.ExitStatus())
		if sig := fatalSignal(ws); sig != 0 {
			text += " (as shells report " + signalName(sig) + ")"
		}
		return text
	}
	text := "signal: " + ws.Signal().String()
	if ws.CoreDump() {
		text += " (core dumped)"
	}
	return text
}

// fatalSignal returns the signal that ended a process, or the one that the
// exit code of a shell in front of it stands for; 0 when there was none.
func fatalSignal(ws syscall.WaitStatus) syscall.Signal {
	if ws.Signaled() {
		return ws.Signal()
	}
	switch sig := syscall.Signal(ws.ExitStatus() - 128); sig {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL,
		syscall.SIGSEGV, syscall.SIGABRT, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL:
		return sig
	}
	return 0
}

// ranOutOfMemory reports whether the last words are those of a runtime that got
// no more memory.
func ranOutOfMemory(stderr []string) bool {
	for _, l := range stderr {
		switch {
		case strings.HasPrefix(l, "fatal error: runtime: out of memory"), // Go
			strings.HasPrefix(l, "fatal error: out of memory"),
			strings.HasPrefix(l, "runtime: out of memory"),
			l == "MemoryError", strings.HasPrefix(l, "MemoryError:"), // Python
			strings.Contains(l, "heap out of memory"),                                              // Node
			strings.Contains(l, "java.lang.OutOfMemoryError"),                                      // Java
			strings.Contains(l, "std::bad_alloc"),                                                  // C++
			strings.HasPrefix(l, "memory allocation of ") && strings.HasSuffix(l, " bytes failed"), // Rust
			strings.Contains(strings.ToLower(l), "cannot allocate memory"):
			return true
		}
	}
	return false
}

func limitText(bytes int64) string {
	switch {
	case bytes == 0:
		return ""
	case bytes%(1<<20) == 0:
		return fmt.Sprintf(", limit %d MiB", bytes>>20)
	}
	return fmt.Sprintf(", limit %d bytes", bytes)
}
