package calls

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/bezoar-dev/bezoar/bench/internal/frame"
)

const (
	socketPath = "/ws"
	socketKey  = "dGhlIHNhbXBsZSBub25jZQ==" // any 16 bytes
)

// socket is an open WebSocket.
type socket struct {
	conn     net.Conn
	in       *bufio.Reader
	distinct int
}

// dial opens the i-th caller's.
func dial(ctx context.Context, cfg Config, i int) (*socket, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", cfg.Addr)
	if err != nil {
		return nil, err
	}
	s := &socket{conn: conn, in: bufio.NewReader(conn), distinct: max(1, cfg.Distinct)}
	if err := s.upgrade(ctx, fmt.Sprintf("http://%s%s?session=%d", cfg.Addr, socketPath, i)); err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

func (s *socket) upgrade(ctx context.Context, url string) error {
	if by, ok := ctx.Deadline(); ok {
		if err := s.conn.SetDeadline(by); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": socketKey,
	} {
		req.Header.Set(name, value)
	}
	if err := req.Write(s.conn); err != nil {
		return err
	}
	resp, err := http.ReadResponse(s.in, req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Sec-WebSocket-Accept") != frame.Accept(socketKey) {
		return fmt.Errorf("no upgrade: status %s", resp.Status)
	}
	return nil
}

// call sends a message and wants it back.
func (s *socket) call(_ context.Context, n int) error {
	sent := fmt.Sprintf("order %d: three of P-00042", n%s.distinct)
	if err := frame.Write(s.conn, frame.Text, true, sent); err != nil {
		return err
	}
	op, got, err := frame.Read(s.in)
	if err != nil {
		return err
	}
	if op != frame.Text || got != sent {
		return fmt.Errorf("frame %d with %q came back for %q", op, got, sent)
	}
	return nil
}

// close says goodbye, and does not wait for the answer.
func (s *socket) close() {
	_ = frame.Write(s.conn, frame.Close, true, "\x03\xe8")
	s.conn.Close()
}
