package handover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// ErrNotServing says that a successor neither serves nor has ended.
var ErrNotServing = errors.New("the process that took the listening sockets neither serves nor has ended")

// A Successor is the process that has taken the sockets. This process keeps copies of them until the successor serves.
type Successor struct {
	conn *net.UnixConn
	dir  string
	kept []socket
}

// Release lets the successor start: this process has released everything but the sockets.
func (s *Successor) Release() {
	_ = s.conn.SetWriteDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(s.conn, released) // Serves finds out if it has died
}

// Serves waits until the successor serves, or ctx ends, and then gives up the sockets. If the successor has ended before, it
// returns the sockets: this process must serve again. It returns an error if that takes longer than within.
func (s *Successor) Serves(ctx context.Context, within time.Duration) (_ *Sockets, err error) {
	defer func() { _ = s.conn.Close() }()
	late := time.Now().Add(within)
	if err := s.conn.SetReadDeadline(late); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = s.conn.SetReadDeadline(time.Unix(1, 0)) })()
	err = expect(s.conn, serves)
	if err == nil || ctx.Err() != nil {
		closeAll(s.kept)
		return nil, nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		closeAll(s.kept)
		return nil, fmt.Errorf("%w within %v", ErrNotServing, within)
	}
	// It has ended, but the kernel may not have released its lock yet, or another process tries in vain to start here.
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late = time.Now().Add(patience); ; {
		lock, err := claim(s.dir)
		if err == nil {
			return &Sockets{given: s.kept, claimed: lock}, nil
		}
		if !errors.Is(err, ErrUnderWay) || time.Now().After(late) {
			closeAll(s.kept)
			return nil, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			closeAll(s.kept)
			return nil, nil
		}
	}
}

// closeAll closes this process's descriptors of sockets.
func closeAll(sockets []socket) {
	for _, s := range sockets {
		_ = s.ln.Close() // nothing can be done about an error
	}
}
