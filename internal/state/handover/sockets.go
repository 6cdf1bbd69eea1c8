package handover

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
)

// The names of Bezoar's listeners.
const (
	HTTP     = "http"     // callers
	Redirect = "redirect" // callers of plain HTTP who are sent to HTTPS
	Admin    = "admin"    // the API and the console
	SQS      = "sqs"      // SQS clients
)

// Sockets are the listening sockets of a process: given ones that are not used yet, and those on which it listens. The zero
// value has none.
type Sockets struct {
	mu      sync.Mutex // guards what follows
	given   []socket
	open    []socket
	outlive bool     // another process keeps them open when this process ends
	claimed *os.File // while no other process may take over
}

type socket struct {
	name string
	addr string // from the settings of the previous process; "" from a service manager
	ln   *net.TCPListener

	blocks bool // an address that the next process needs
}

// fits reports whether a given socket is the wanted one: by its name and the setting, or by the service manager's name. A
// socket without a known name is recognised by its address.
func (s socket) fits(name, addr string) bool {
	switch {
	case s.addr != "":
		return s.name == name && s.addr == addr
	case slices.Contains([]string{HTTP, Redirect, Admin, SQS}, s.name):
		return s.name == name
	}
	return s.at(addr)
}

// at reports whether a socket listens where the settings say.
func (s socket) at(addr string) bool {
	host, port, err := net.SplitHostPort(addr)
	at, is := s.ln.Addr().(*net.TCPAddr)
	return err == nil && is && fmt.Sprint(at.Port) == port &&
		(at.IP.String() == host || at.IP.IsUnspecified() && (host == "" || host == "0.0.0.0" || host == "::"))
}

// Listen returns the given socket with this name, or a new one at addr.
func (s *Sockets) Listen(name, addr string) (net.Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.given, func(g socket) bool { return g.fits(name, addr) && g.at(addr) }) // several may have one name
	if i < 0 {
		i = slices.IndexFunc(s.given, func(g socket) bool { return g.fits(name, addr) })
	}
	if i >= 0 {
		ln := s.given[i].ln
		s.given = slices.Delete(s.given, i, i+1)
		s.open = append(s.open, socket{name: name, addr: addr, ln: ln})
		return ln, nil
	}
	ln, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) && s.giveUp(addr) {
		ln, err = net.Listen("tcp", addr)
	}
	if err != nil {
		return nil, err
	}
	if tcp, ok := ln.(*net.TCPListener); ok {
		s.open = append(s.open, socket{name: name, addr: addr, ln: tcp})
	}
	return ln, nil
}

// Claim opens a socket that Listen will need and that was not given, to find out whether that is possible. It leaves an
// address to Listen if only a given socket blocks it.
func (s *Sockets) Claim(name, addr string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.given, func(g socket) bool { return g.fits(name, addr) }) {
		return nil
	}
	ln, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		conflicts, found := inTheWay(addr), false
		for i := range s.given {
			if conflicts(s.given[i]) {
				s.given[i].blocks, found = true, true
			}
		}
		if found {
			return nil
		}
	}
	if err != nil {
		return err
	}
	if tcp, ok := ln.(*net.TCPListener); ok {
		s.given = append(s.given, socket{name: name, addr: addr, ln: tcp})
	}
	return nil
}

// inTheWay returns a test for given sockets with the port of addr: the previous process listened there at other addresses,
// or for another purpose.
func inTheWay(addr string) func(socket) bool {
	_, port, err := net.SplitHostPort(addr)
	return func(g socket) bool {
		at, ok := g.ln.Addr().(*net.TCPAddr)
		return err == nil && ok && g.addr != "" && strconv.Itoa(at.Port) == port
	}
}

// giveUp closes the sockets that block addr, and reports whether there were any. The caller holds mu.
func (s *Sockets) giveUp(addr string) bool {
	before, conflicts := len(s.given), inTheWay(addr)
	s.given = slices.DeleteFunc(s.given, func(g socket) bool {
		if !conflicts(g) {
			return false
		}
		_ = g.ln.Close() // nothing can be done about an error
		return true
	})
	return len(s.given) < before
}

// Outlive reports whether the sockets stay open when this process ends. Then callers who come before the next process
// serves are not refused.
func (s *Sockets) Outlive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outlive
}

// Unclaim lets other processes take over, which is not possible between Take and Offer.
func (s *Sockets) Unclaim() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claimed != nil {
		_ = s.claimed.Close() // it holds only a lock
		s.claimed = nil
	}
}

// CloseRest closes the given sockets that were not used, and returns their names.
func (s *Sockets) CloseRest() (rest []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.given {
		rest = append(rest, fmt.Sprintf("%s (%s)", g.name, g.ln.Addr()))
		_ = g.ln.Close() // nothing can be done about an error
	}
	s.given = nil
	return rest
}
