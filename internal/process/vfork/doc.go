// Package vfork starts child processes with limits that hold before their first
// instruction. It does what [os.StartProcess] does for a child in its own session that
// dies with the thread that started it, and also sets resource limits between fork and
// exec, which the standard library cannot do.
//
// # Why it exists
//
// With the standard library, the only way to limit a child before its first instruction
// is to stop it by ptrace, to set the limits from outside, and to let it go. That costs
// two switches of the processor per start, is forbidden in some containers, and takes
// their privileges from set-user-ID programs. The library also resets about 55 signal
// handlers, one system call each, and makes a pipe to learn of an error of exec. Here the
// kernel resets the handlers (CLONE_CLEAR_SIGHAND), and the child writes the error into
// the memory that it shares with its parent until exec.
//
// # Guarantees
//
// Start returns after exec has succeeded or failed. If it returns an error, no child is
// left. The child has no open files except the four given ones and those that are not
// close-on-exec: all files that Go opens on Linux are close-on-exec from the start, so
// Start takes no [syscall.ForkLock].
//
// # Limits
//
// It needs Linux 5.7 (clone3) on amd64 or arm64. [Able] tests whether the kernel and its
// filters allow clone3. It depends on two functions of the runtime, runtime_BeforeFork and
// runtime_AfterFork of package syscall, whose signatures the Go team keeps for gVisor
// (golang/go#67401).
package vfork
