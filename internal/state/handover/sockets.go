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

// Sockets are the listening sockets of a process: those that it was given, until
// it needs them, and those on which it listens. The zero value was given none.
type Sockets struct {
	mu      sync.Mutex // guards what follows
	given   []socket
	open    []socket
	outlive bool     // somebody else keeps them open when this process ends
	claimed *os.File // while nobody else may take over
}

// socket is a listening socket.
type socket struct {
	name string
	addr string // as the settings of the process before say it; "" from a service manager
	ln   *net.TCPListener
}

// fits reports whether a socket that was given is the one that is looked for: by
// its name and what the settings say, or as the service manager named it. One
// whose name says nothing is known by where it listens.
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

// Listen returns the socket of a name that was given, or a new one at addr.
func (s *Sockets) Listen(name, addr string) (net.Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.given, func(g socket) bool { return g.fits(name, addr) && g.at(addr) }) // of several with one name
	if i < 0 {
		i = slices.IndexFunc(s.given, func(g socket) bool { return g.fits(name, addr) })
	}
	if i >= 0 {
		ln := s.given[i].ln
		s.given = slices.Delete(s.given, i, i+1)
		s.open = append(s.open, socket{name, addr, ln})
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
		s.open = append(s.open, socket{name, addr, tcp})
	}
	return ln, nil
}

// Claim opens what Listen will need and was not given, so that it is known whether
// it can be had. What only a given socket is in the way of is left to Listen.
func (s *Sockets) Claim(name, addr string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.given, func(g socket) bool { return g.fits(name, addr) }) {
		return nil
	}
	ln, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) && slices.ContainsFunc(s.given, inTheWay(addr)) {
		return nil
	}
	if err != nil {
		return err
	}
	if tcp, ok := ln.(*net.TCPListener); ok {
		s.given = append(s.given, socket{name, addr, tcp})
	}
	return nil
}

// inTheWay tells which sockets the process before has handed over with the port of
// addr: it listened there at other addresses, or for another purpose.
func inTheWay(addr string) func(socket) bool {
	_, port, err := net.SplitHostPort(addr)
	return func(g socket) bool {
		at, ok := g.ln.Addr().(*net.TCPAddr)
		return err == nil && ok && g.addr != "" && strconv.Itoa(at.Port) == port
	}
}

// giveUp closes the sockets that are in the way of addr, and reports whether there
// were any. The caller holds mu.
func (s *Sockets) giveUp(addr string) bool {
	before, conflicts := len(s.given), inTheWay(addr)
	s.given = slices.DeleteFunc(s.given, func(g socket) bool {
		if !conflicts(g) {
			return false
		}
		_ = g.ln.Close() // nothing can be done about it
		return true
	})
	return len(s.given) < before
}

// Outlive reports whether the sockets stay open when this process ends: callers
// who come until the next one serves are not refused.
func (s *Sockets) Outlive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outlive
}

// Unclaim lets others take over, who are kept from it between Take and Offer.
func (s *Sockets) Unclaim() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claimed != nil {
		_ = s.claimed.Close() // it holds nothing but a lock
		s.claimed = nil
	}
}

// CloseRest closes the sockets that were given and that nobody asked for, and says
// which they were.
func (s *Sockets) CloseRest() (rest []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.given {
		rest = append(rest, fmt.Sprintf("%s (%s)", g.name, g.ln.Addr()))
		_ = g.ln.Close() // nothing can be done about it
	}
	s.given = nil
	return rest
}
