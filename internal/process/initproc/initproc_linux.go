package initproc

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Run returns at once, with ok false, unless this process is process 1 of its namespace. Then Run starts the same program
// with the same arguments, waits for its end, and returns its exit code. After an error the caller carries on as process 1
// itself.
func Run() (code int, ok bool, err error) {
	if os.Getpid() != 1 {
		return 0, false, nil
	}
	signals := make(chan os.Signal, 64)
	signal.Notify(signals)
	child, err := start()
	if err != nil {
		signal.Reset()
		return 0, false, fmt.Errorf("start the program below the first process: %w", err)
	}
	go passOn(signals, child)
	code, err = collect(child)
	return code, err == nil, err
}

// start starts the program again. On a terminal, the child gets its own foreground group: otherwise it would receive an
// interrupt twice, from the terminal and from us.
func start() (pid int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	attr := &os.ProcAttr{Env: os.Environ(), Files: append([]*os.File{os.Stdin, os.Stdout, os.Stderr}, given()...), Sys: new(syscall.SysProcAttr)}
	if _, err := unix.IoctlGetTermios(0, unix.TCGETS); err == nil {
		attr.Sys.Setpgid, attr.Sys.Foreground, attr.Sys.Ctty = true, true, 0
	}
	p, err := os.StartProcess(self, os.Args, attr)
	if err != nil {
		return 0, err
	}
	pid = p.Pid
	return pid, p.Release() // collect reaps it
}

// given returns the listening sockets that a service manager passed to this process (see sd_listen_fds(3)). They are for
// the child; this process keeps them open too.
func given() (files []*os.File) {
	n, err := strconv.Atoi(os.Getenv("LISTEN_FDS"))
	if err != nil || os.Getenv("LISTEN_PID") != "1" {
		return nil
	}
	for fd := 3; fd < 3+min(n, 64); fd++ {
		files = append(files, os.NewFile(uintptr(fd), "socket"))
	}
	return files
}

// passOn sends the child every signal that this process receives, except those that the kernel and the Go runtime send to
// this process itself.
func passOn(signals <-chan os.Signal, child int) {
	for s := range signals {
		switch sig, ok := s.(syscall.Signal); {
		case !ok, sig == syscall.SIGCHLD, sig == syscall.SIGURG, sig == syscall.SIGPIPE:
		default:
			_ = syscall.Kill(child, sig) // it may have ended
		}
	}
}

// collect reaps all children that end, until the program itself has ended.
func collect(child int) (code int, err error) {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, fmt.Errorf("wait for children: %w", err)
		case pid != child:
		case ws.Signaled():
			return 128 + int(ws.Signal()), nil
		case ws.Exited():
			return ws.ExitStatus(), nil
		}
	}
}
