package doctor

import (
	"context"
	"errors"
	"net"
	"strconv"

	"golang.org/x/sys/unix"
)

// ports checks whether Bezoar listens at its addresses, or could.
func (e *examination) ports(ctx context.Context) {
	for _, a := range e.addresses() {
		ln, err := new(net.ListenConfig).Listen(ctx, "tcp", a.addr)
		if err == nil {
			err = ln.Close()
		}
		switch {
		case err == nil && e.runs() && e.File == "":
			e.ok("ports", "%s %s is free: Bezoar (pid %d) was started with other settings than the defaults", a.key, a.addr, e.pid())
		case err == nil && e.runs():
			e.warn("ports", "restart Bezoar, or correct "+a.key, "Bezoar runs (pid %d) and does not listen on %s, as %s says", e.pid(), a.addr, a.key)
		case err == nil:
			e.ok("ports", "%s %s is free", a.key, a.addr)
		case errors.Is(err, unix.EADDRINUSE):
			e.taken(a)
		case errors.Is(err, unix.EADDRNOTAVAIL):
			e.fault("ports", "name an address of this machine, or 0.0.0.0 for all", "%s %s is not an address of this machine", a.key, a.addr)
		case errors.Is(err, unix.EACCES) && e.runs():
			e.ok("ports", "%s %s cannot be tried as this user", a.key, a.addr)
		case errors.Is(err, unix.EACCES):
			e.fault("ports", "take a port from 1024 on, or give Bezoar CAP_NET_BIND_SERVICE", "%s %s is not allowed to this user", a.key, a.addr)
		default:
			e.fault("ports", "correct "+a.key, "%s %s: %v", a.key, a.addr, err)
		}
	}
}

// taken checks whether Bezoar is the process that listens there.
func (e *examination) taken(a address) {
	_, text, _ := net.SplitHostPort(a.addr)
	port, _ := strconv.Atoi(text) // the address was used just before
	pid, name := e.Machine.Listener(port)
	switch {
	case pid != 0 && pid == e.pid():
		e.ok("ports", "%s %s is served by Bezoar (pid %d)", a.key, a.addr, pid)
	case pid != 0 && e.pid() != 0:
		e.fault("ports", "stop that process, or change "+a.key, "%s %s is taken by %s (pid %d), and Bezoar has pid %d", a.key, a.addr, name, pid, e.pid())
	case pid != 0:
		e.fault("ports", "stop that process, or change "+a.key, "%s %s is taken by %s (pid %d)", a.key, a.addr, name, pid)
	case e.runs():
		e.ok("ports", "%s %s is taken while Bezoar runs; this user cannot see whether Bezoar has it", a.key, a.addr)
	default:
		e.fault("ports", "stop that process (ss -ltnp as root names it), or change "+a.key, "%s %s is taken by a process of another user, and Bezoar does not run", a.key, a.addr)
	}
}
