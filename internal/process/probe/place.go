package probe

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/connlimit"
)

// A worker's name is its address and protocol: host:port, https://host:port or unix:/path.

// ParseWorker returns the worker's name for a URL. The default ports 80 and, for https, 443 may be omitted; a path is not
// part of the name.
func ParseWorker(raw string) (string, error) {
	if file, ok := strings.CutPrefix(raw, "unix:"); ok {
		if !path.IsAbs(file) || path.Clean(file) != file || len(file) > maxSocketPath {
			return "", fmt.Errorf("worker %.200q: want unix: and the absolute path of a socket", raw)
		}
		return raw, nil
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Scheme == "":
		return "", fmt.Errorf("worker %.100q is not a URL, want http://host:port", raw)
	case u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("worker %.100q: scheme %.20q is not supported, want http or https", raw, u.Scheme)
	case u.User != nil:
		return "", fmt.Errorf("worker %.20q…: a user name or password has no use here", u.Scheme+"://")
	case u.RawQuery != "", u.Fragment != "":
		return "", fmt.Errorf("worker %.100q: want only http://host:port, without query", raw)
	case u.Hostname() == "":
		return "", fmt.Errorf("worker %.100q has no host name, want http://host:port", raw)
	}
	before, port := "", "80"
	if u.Scheme == "https" {
		before, port = secure, "443"
	}
	if u.Port() != "" {
		port = u.Port()
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("worker %.100q: port %.10q is not between 1 and 65535", raw, port)
	}
	return before + net.JoinHostPort(strings.ToLower(u.Hostname()), port), nil
}

const (
	secure        = "https://" // begins the names of workers that speak TLS
	maxSocketPath = 107        // the kernel's limit
)

// place returns a worker's network and address: host:port, or a path for the network unix.
func place(worker string) (network, addr string) {
	if file, ok := strings.CutPrefix(worker, "unix:"); ok {
		return "unix", file
	}
	return "tcp", strings.TrimPrefix(worker, secure)
}

// hostOf returns a worker's value for the Host field.
func hostOf(worker string) string {
	network, addr := place(worker)
	if network == "unix" {
		return "localhost"
	}
	return addr
}

// dialer connects to a worker. The zero value supports TCP and unix sockets.
type dialer struct {
	net.Dialer

	http2 bool                          // protocol to negotiate by TLS
	host  string                        // host:port that resolves to the worker's address; "": the worker's own name
	tls   func(host string) *tls.Config // nil: the system's settings
}

// bare connects to a worker's address without sending anything.
func (d *dialer) bare(ctx context.Context, worker string) (net.Conn, error) {
	network, addr := place(worker)
	return d.DialContext(ctx, network, addr)
}

// ready connects, with TLS if needed, so that a request may follow.
func (d *dialer) ready(ctx context.Context, worker string) (net.Conn, error) {
	conn, err := d.bare(ctx, worker)
	if err != nil || !strings.HasPrefix(worker, secure) {
		return conn, err
	}
	host := d.host
	host = cmp.Or(host, worker)
	name, _, _ := net.SplitHostPort(strings.TrimPrefix(host, secure))
	cfg := &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12}
	if d.tls != nil {
		cfg = d.tls(name)
	}
	cfg.NextProtos = []string{"http/1.1"}
	if d.http2 {
		cfg.NextProtos = []string{"h2"}
	}
	t := tls.Client(conn, cfg)
	err = t.HandshakeContext(ctx)
	if err == nil && d.http2 && t.ConnectionState().NegotiatedProtocol != "h2" {
		err = errors.New("the worker does not agree to HTTP/2")
	}
	if err != nil {
		conn.Close()
		return nil, &handshakeError{err}
	}
	return t, nil
}

// handshakeError is a failed TLS handshake on an open connection.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return "TLS: " + e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

// exhaustedPause is the time between tries of a check that got no descriptor.
const exhaustedPause = 20 * time.Millisecond

// dial connects with connect, or returns why that failed. The result has no meaning if the connection is not nil.
func dial(ctx context.Context, worker string, connect func(context.Context, string) (net.Conn, error)) (net.Conn, Result) {
	conn, err := connect(ctx, worker)
	for connlimit.Exhausted(err) && sleep(ctx, nil, exhaustedPause) {
		conn, err = connect(ctx, worker)
	}
	if err == nil {
		return conn, Result{}
	}
	var h *handshakeError
	broken := errors.As(err, &h) || errors.Is(err, syscall.ECONNRESET)
	err = fmt.Errorf("connect to %s: %w", worker, refusal(err))
	switch {
	case connlimit.Exhausted(err):
		return nil, Result{Outcome: Exhausted, Err: err}
	case isTimeout(err):
		return nil, Result{Outcome: TimedOut, Err: err}
	case broken:
		return nil, Result{Outcome: Broken, Err: err}
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, Result{Outcome: Refused, Err: err}
	case strings.HasPrefix(worker, "unix:") && errors.Is(err, syscall.ENOENT):
		return nil, Result{Outcome: Refused, Err: err} // like a port without a listener
	}
	return nil, Result{Outcome: Unreachable, Err: err}
}

// bareDial is for checks that send nothing.
func bareDial(ctx context.Context, worker string) (net.Conn, Result) {
	return dial(ctx, worker, (&dialer{Dialer: quick}).bare)
}

// quick is for short-lived connections.
var quick = net.Dialer{KeepAlive: -1}

// dialer returns the dialer for a worker by the present settings.
func (x *ExternalWorkers) dialer(r *remote) *dialer {
	cfg := x.cfg.Load()
	return &dialer{host: r.host, tls: cfg.TLS, http2: cfg.HTTP2}
}

// Dial connects to a worker as health checks do, so that a request may follow.
func (x *ExternalWorkers) Dial(ctx context.Context, worker string) (net.Conn, error) {
	r := x.find(worker)
	if r == nil {
		return nil, fmt.Errorf("there is no worker %s any more", worker)
	}
	return x.dialer(r).ready(ctx, worker)
}

// refusal returns what the system answered to a dial, without the address, which the
// caller names.
func refusal(err error) error {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		if call, ok := errors.AsType[*os.SyscallError](dial.Err); ok {
			return call.Err
		}
	}
	return err
}
