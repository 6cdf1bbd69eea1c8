package handover

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// first is the first descriptor that a service manager passes on.
const first = 3

// variables describe the sockets of a service manager.
var variables = [...]string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}

// Inherit takes the sockets that a service manager gave this process, as sd_listen_fds(3) does. It removes their
// description from the environment, because it is not for the workers.
func Inherit() (*Sockets, error) {
	var value [len(variables)]string
	for i, name := range variables {
		value[i] = os.Getenv(name)
		_ = os.Unsetenv(name) // fails only for invalid names
	}
	s := &Sockets{}
	if pid, err := strconv.Atoi(value[0]); err != nil || !mine(pid) {
		return s, nil // for another process
	}
	n, err := strconv.Atoi(value[1])
	if err != nil || n < 0 || n > 64 {
		return nil, fmt.Errorf("LISTEN_FDS is %.20q, want a number up to 64", value[1])
	}
	names := strings.Split(value[2], ":")
	for i := range n {
		name := "unknown"
		if i < len(names) && names[i] != "" {
			name = names[i]
		}
		syscall.CloseOnExec(first + i)
		ln, err := listener(uintptr(first+i), name)
		if err != nil {
			s.CloseRest()
			return nil, fmt.Errorf("socket %d of LISTEN_FDS: %w", i+1, err)
		}
		s.given = append(s.given, socket{name: name, ln: ln})
		s.outlive = true
	}
	return s, nil
}

// mine reports whether sockets for process pid are for this process. That includes the first process of a container, which
// starts the program once more.
func mine(pid int) bool { return pid == os.Getpid() || pid == 1 && os.Getppid() == 1 }

// listener makes a listener from a descriptor, and closes the descriptor.
func listener(fd uintptr, name string) (*net.TCPListener, error) {
	f := os.NewFile(fd, name)
	if f == nil {
		return nil, fmt.Errorf("%s: no such descriptor", name)
	}
	defer f.Close()
	ln, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	tcp, ok := ln.(*net.TCPListener)
	if !ok {
		return nil, fmt.Errorf("%s: it is at %s, want TCP", name, ln.Addr().Network())
	}
	return tcp, nil
}
