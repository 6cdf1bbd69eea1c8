package handover

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// A Predecessor is a process that has handed over its sockets. It ends when this process serves, and serves again if this
// process ends before.
type Predecessor struct {
	PID  int
	conn *net.UnixConn
}

// Take takes the sockets of the process that offers them in dir. If there is none, it returns Sockets without given ones,
// and no Predecessor. It calls check with the sockets; if check returns an error, the other process goes on as before.
// Until the sockets are offered again, or unclaimed, no other process can take over there.
func Take(ctx context.Context, dir string, check func(*Sockets) error) (*Sockets, *Predecessor, error) {
	mine, err := claim(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &Sockets{}, nil, nil // dir was never used
	}
	if err != nil {
		return nil, nil, err
	}
	s, before, err := take(ctx, dir, check)
	if err != nil {
		return nil, nil, errors.Join(err, mine.Close())
	}
	s.claimed = mine
	return s, before, nil
}

func take(ctx context.Context, dir string, check func(*Sockets) error) (*Sockets, *Predecessor, error) {
	path, done, err := place(dir)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) {
		return &Sockets{}, nil, nil // there was none, or it has died
	}
	if err != nil {
		return nil, nil, err
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return nil, nil, errors.Join(fmt.Errorf("%s is not a Unix socket", path), c.Close())
	}
	s, pid, err := receive(conn, check)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("take the sockets that %s offers: %w", filepath.Join(dir, fileName), err), conn.Close())
	}
	return s, &Predecessor{pid, conn}, nil
}

// maxLetter bounds the letter, and maxSockets the number of sockets.
const (
	maxLetter  = 16 << 10
	maxSockets = 64
)

func receive(c *net.UnixConn, check func(*Sockets) error) (_ *Sockets, pid int, err error) {
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, 0, err
	}
	if _, err := io.WriteString(c, asks); err != nil {
		return nil, 0, err
	}
	text, rights := make([]byte, maxLetter), make([]byte, unix.CmsgSpace(4*maxSockets))
	n, m, _, _, err := c.ReadMsgUnix(text, rights) // a letter is short enough for one read
	if err != nil {
		return nil, 0, err
	}
	fds, err := descriptors(rights[:m])
	if err != nil {
		return nil, 0, err
	}
	s := &Sockets{}
	defer func() {
		if err != nil {
			s.CloseRest()
		}
	}()
	var l letter
	if err = json.Unmarshal(text[:n], &l); err == nil && len(l.Sockets) != len(fds) {
		err = fmt.Errorf("%d sockets came, with %d names", len(fds), len(l.Sockets))
	}
	if err != nil {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
		return nil, 0, err
	}
	for i, fd := range fds {
		ln, failed := listener(uintptr(fd), l.Sockets[i].Name)
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		s.given = append(s.given, socket{name: l.Sockets[i].Name, addr: l.Sockets[i].Addr, ln: ln})
	}
	if err != nil {
		return nil, 0, err
	}
	if err = check(s); err != nil {
		return nil, 0, err
	}
	blocked := bytes.Repeat([]byte{'0'}, len(fds))
	for i := range blocked {
		if s.given[i].blocks {
			blocked[i] = blocks
		}
	}
	if _, err = c.Write(append([]byte(has), blocked...)); err != nil {
		return nil, 0, err
	}
	return s, l.PID, c.SetDeadline(time.Time{})
}

func descriptors(rights []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	var fds []int
	for i := range messages {
		more, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return nil, err
		}
		fds = append(fds, more...)
	}
	return fds, nil
}

// Wait waits until the process has released everything else, or has died. The caller must call Serves or GiveUp then.
func (p *Predecessor) Wait(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = p.conn.SetReadDeadline(time.Unix(1, 0)) })()
	err := expect(p.conn, released)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) { // it has died
		return nil
	}
	return err
}

// Serves tells the process that this one serves: it may end.
func (p *Predecessor) Serves() error {
	err := p.conn.SetWriteDeadline(time.Now().Add(patience))
	if err == nil {
		_, err = io.WriteString(p.conn, serves)
	}
	if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) { // it has died
		err = nil
	}
	return errors.Join(err, p.conn.Close())
}

// GiveUp lets the process serve again, because this one does not. Everything else must be closed. After Serves it does
// nothing.
func (p *Predecessor) GiveUp() { _ = p.conn.Close() }
