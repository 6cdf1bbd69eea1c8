package handover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// These are the lines of the protocol. The new process asks, gets the sockets, and confirms that it has them. The old one
// says that it has released everything else, or dies. Then the new one starts, and says that it serves, or dies.
const (
	asks     = "bezoar take 2\n"
	has      = "bezoar took 2\n"
	released = "bezoar released 2\n"
	serves   = "bezoar serves 2\n"
)

// Behind the line has comes one byte for each socket: whether it blocks an address that the new process needs. The old
// process keeps no copy of such a socket.
const blocks = '1'

// patience bounds the time for one line.
const patience = 5 * time.Second

// label describes one socket, in the order of the sockets.
type label struct {
	Name string `json:"name"`
	Addr string `json:"addr"`
}

// letter comes with the sockets.
type letter struct {
	PID     int     `json:"pid"`
	Sockets []label `json:"sockets"`
}

// An Offer is where a new process asks for the sockets. Create it with [Sockets.Offer].
type Offer struct {
	sockets *Sockets
	ln      *net.UnixListener
	path    string
}

// Offer opens a socket in dir where a new process can ask. Only its user may have access to dir. The caller must call Await
// or Close.
func (s *Sockets) Offer(dir string) (*Offer, error) {
	defer s.Unclaim() // the next process may ask now, or the offer has failed
	path, done, err := place(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	real := filepath.Join(dir, fileName)
	if c, err := (&net.Dialer{Timeout: patience}).Dial("unix", path); err == nil {
		return nil, errors.Join(fmt.Errorf("%s: another process offers its sockets there", real), c.Close())
	}
	if err := os.Remove(real); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	ln.SetUnlinkOnClose(false) // path may be invalid by then
	o := &Offer{s, ln, real}
	if err := os.Chmod(real, 0o600); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

func (o *Offer) Close() error {
	if err := o.ln.Close(); err != nil {
		return err // it has ended
	}
	if err := os.Remove(o.path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Await waits until another process has taken the sockets, or ctx ends; then it returns nil. After that nobody else can
// ask.
func (o *Offer) Await(ctx context.Context) (*Successor, error) {
	defer context.AfterFunc(ctx, func() { _ = o.Close() })()
	defer func() { _ = o.Close() }()
	for {
		c, err := o.ln.AcceptUnix()
		if ctx.Err() != nil {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		kept, err := o.sockets.give(c)
		if err != nil { // it was not a Bezoar, or has ended
			closeAll(kept)
			_ = c.Close()
			continue
		}
		o.sockets.mu.Lock()
		o.sockets.outlive = true
		o.sockets.mu.Unlock()
		return &Successor{c, filepath.Dir(o.path), kept}, nil
	}
}

// give sends the open sockets to the other process, and returns copies of them.
func (s *Sockets) give(c *net.UnixConn) (kept []socket, err error) {
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if err := expect(c, asks); err != nil {
		return nil, err
	}
	s.mu.Lock()
	open := append([]socket(nil), s.open...)
	s.mu.Unlock()
	l := letter{PID: os.Getpid()}
	var fds []int
	defer func() {
		for _, fd := range fds {
			_ = unix.Close(fd) // these are copies
		}
	}()
	for _, o := range open {
		fd, err := duplicate(o.ln)
		if err != nil {
			continue // closed meanwhile
		}
		fds = append(fds, fd)
		l.Sockets = append(l.Sockets, label{o.name, o.addr})
		if fd, err = duplicate(o.ln); err != nil {
			return kept, err
		}
		ln, err := listener(uintptr(fd), o.name)
		if err != nil {
			return kept, err
		}
		kept = append(kept, socket{name: o.name, addr: o.addr, ln: ln})
	}
	text, err := json.Marshal(l)
	if err != nil {
		return kept, err
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	if _, _, err := c.WriteMsgUnix(append(text, '\n'), rights, nil); err != nil {
		return kept, err
	}
	if err := expect(c, has); err != nil {
		return kept, err
	}
	blocked := make([]byte, len(kept))
	if _, err := io.ReadFull(c, blocked); err != nil {
		return kept, err
	}
	open = kept
	kept = nil
	for i, k := range open {
		if blocked[i] == blocks {
			_ = k.ln.Close() // nothing can be done about an error
			continue
		}
		kept = append(kept, k)
	}
	return kept, c.SetDeadline(time.Time{})
}

// expect reads one line of the protocol.
func expect(r io.Reader, want string) error {
	line := make([]byte, len(want))
	if n, err := io.ReadFull(r, line); err != nil {
		return fmt.Errorf("said %.40q: %w", line[:n], err)
	}
	if string(line) != want {
		return fmt.Errorf("said %.40q", line)
	}
	return nil
}

// duplicate returns another descriptor of a socket. Unlike File, it does not change whether the socket blocks, which all
// its descriptors share.
func duplicate(ln *net.TCPListener) (fd int, err error) {
	raw, err := ln.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	if err := raw.Control(func(open uintptr) { fd, failed = unix.FcntlInt(open, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return 0, err
	}
	return fd, failed
}
