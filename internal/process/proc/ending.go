package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// Status returns how a process ended, in the kernel's words.
func Status(st *os.ProcessState) syscall.WaitStatus {
	var ws syscall.WaitStatus
	if st != nil {
		ws, _ = st.Sys().(syscall.WaitStatus)
	}
	return ws
}

// Describe describes a process's end: "exit code 3", "signal: segmentation fault (core dumped)".
func Describe(ws syscall.WaitStatus) string {
	if !ws.Signaled() {
		text := fmt.Sprintf("exit code %d", ws.ExitStatus())
		if sig := FatalSignal(ws); sig != 0 {
			text += " (as shells report " + SignalName(sig) + ")"
		}
		return text
	}
	text := "signal: " + ws.Signal().String()
	if ws.CoreDump() {
		text += " (core dumped)"
	}
	return text
}

// Hopeless reports whether a start error is permanent: no such program, not executable, or not for this machine.
func Hopeless(err error) bool {
	return errors.Is(err, exec.ErrNotFound) || errors.Is(err, exec.ErrDot) || errors.Is(err, fs.ErrNotExist) ||
		errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOEXEC) || errors.Is(err, syscall.ENOTDIR)
}

// FatalSignal returns the signal that ended a process, also if a shell reported it by its exit code; 0 if there was none.
func FatalSignal(ws syscall.WaitStatus) syscall.Signal {
	if ws.Signaled() {
		return ws.Signal()
	}
	if sig := syscall.Signal(ws.ExitStatus() - 128); ends(sig) {
		return sig
	}
	return 0
}

// OutOfMemory is what a description adds for a process that had no more memory; the limit is 0 if it had none.
func OutOfMemory(limit int64) string {
	switch {
	case limit == 0:
		return " (out of memory)"
	case limit%(1<<20) == 0:
		return fmt.Sprintf(" (out of memory, limit %d MiB)", limit>>20)
	}
	return fmt.Sprintf(" (out of memory, limit %d bytes)", limit)
}

// RanOutOfMemory reports whether the last lines of a process come from a runtime that could not get more memory.
func RanOutOfMemory(lines []string) bool {
	for _, l := range lines {
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
