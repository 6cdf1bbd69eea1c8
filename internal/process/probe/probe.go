package probe

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"
)

// Outcome says how far a health request got.
type Outcome int

// The outcomes.
const (
	Unreachable Outcome = iota // no route, or no such host: says little about the worker
	Refused                    // nobody listens on the port
	TimedOut                   // no answer in time, connected or not
	Broken                     // connected, then closed, reset or answered in no HTTP
	Answered                   // Status is set
	Exhausted                  // this process has no descriptor to look with: says nothing about the worker
)

// String returns the outcome's name.
func (o Outcome) String() string {
	if names := [...]string{"unreachable", "refused", "timed out", "broken", "answered", "not looked at, for lack of descriptors"}; uint(o) < uint(len(names)) {
		return names[o]
	}
	return "outcome(" + strconv.Itoa(int(o)) + ")"
}

// Result is what one look at a worker found.
type Result struct {
	Outcome Outcome
	Status  int   // of the answer; 0 unless Answered
	Err     error // the cause unless Answered
}

// Healthy reports whether the worker answered that it is well: 2xx or 3xx.
func (r Result) Healthy() bool {
	return r.Outcome == Answered && r.Status >= 200 && r.Status < 400
}

// String says it for people: "answered 503", "refused".
func (r Result) String() string {
	if r.Outcome == Answered {
		return "answered " + strconv.Itoa(r.Status)
	}
	return r.Outcome.String()
}

// DefaultTimeout is how long a look may take unless configured.
const DefaultTimeout = time.Second

// The bounds of one look.
const (
	maxHead = 16 << 10              // bytes of an answer's status line and 1xx heads
	maxRest = 64 << 10              // bytes read after it, so that closing does not reset
	goodbye = 50 * time.Millisecond // how long for those bytes
)

// Probe is one health request over a connection of its own. It never reuses a
// connection and never sends a request twice. The zero Probe asks HEAD / and
// waits for [DefaultTimeout].
type Probe struct {
	Path    string        // GET it; "" asks HEAD /
	Host    string        // the Host header; "" means the address
	Timeout time.Duration // of all of it; 0 means DefaultTimeout
	HTTP2   bool          // ask over HTTP/2
	GRPC    string        // ask for the health of this service, or WholeServer, by grpc.health.v1; needs HTTP2

	dialer *dialer // nil: the zero one
}

// Do looks at a worker by its name (one of a host is resolved anew each time).
func (p Probe) Do(ctx context.Context, addr string) Result {
	ctx, cancel := context.WithTimeout(ctx, p.timeout())
	defer cancel()
	if p.HTTP2 {
		return p.doHTTP2(ctx, addr)
	}
	conn, res := p.dial(ctx, addr)
	if conn == nil {
		return res
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()

	if _, err := conn.Write(p.request(addr)); err != nil {
		return failed(fmt.Errorf("send the health request to %s: %w", addr, err))
	}
	br := bufio.NewReaderSize(io.LimitReader(conn, maxHead), 1024)
	status, err := readStatus(br)
	if err != nil {
		return failed(fmt.Errorf("read the health answer of %s: %w", addr, err))
	}
	// Reading on until the worker closes lets it see an orderly end and not a
	// reset that it would log.
	_ = conn.SetReadDeadline(time.Now().Add(goodbye))
	_, _ = io.CopyN(io.Discard, conn, maxRest)
	return Result{Outcome: Answered, Status: status}
}

// asks reports whether only a good answer will do.
func (p Probe) asks() bool { return p.Path != "" || p.GRPC != "" }

func (p Probe) dial(ctx context.Context, worker string) (net.Conn, Result) {
	d := dialer{Dialer: quick, http2: p.HTTP2}
	if p.dialer != nil {
		d.host, d.tls = p.dialer.host, p.dialer.tls
	}
	return dial(ctx, worker, d.ready)
}

// open looks whether the worker gets as far as to take a request.
func (p Probe) open(ctx context.Context, worker string) Result {
	ctx, cancel := context.WithTimeout(ctx, p.timeout())
	defer cancel()
	return opened(p.dial(ctx, worker))
}

func (p Probe) timeout() time.Duration {
	if p.Timeout > 0 {
		return p.Timeout
	}
	return DefaultTimeout
}

func (p Probe) request(addr string) []byte {
	method, path, host := "GET", p.Path, p.Host
	if path == "" {
		method, path = "HEAD", "/"
	}
	if host == "" {
		host = hostOf(addr)
	}
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bezoar-health\r\nAccept: */*\r\nConnection: close\r\n\r\n",
		method, path, host)
}

// Open looks whether somebody listens at a worker's address, without sending a byte.
func Open(ctx context.Context, worker string, timeout time.Duration) Result {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return opened(bareDial(ctx, worker))
}

func opened(conn net.Conn, res Result) Result {
	if conn == nil {
		return res
	}
	_ = conn.Close()
	return Result{Outcome: Answered}
}

// failed classifies an error on a connection that stood.
func failed(err error) Result {
	if isTimeout(err) {
		return Result{Outcome: TimedOut, Err: err}
	}
	return Result{Outcome: Broken, Err: err}
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &ne) && ne.Timeout()
}

// readStatus returns the status of the first final answer in r, passing over
// interim ones (1xx).
func readStatus(r *bufio.Reader) (int, error) {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		status, err := parseStatus(line)
		if err != nil || status >= 200 || status == 101 {
			return status, err
		}
		for len(bytes.TrimRight(line, "\r\n")) > 0 { // skip the interim head
			if line, err = r.ReadSlice('\n'); err != nil {
				return 0, err
			}
		}
	}
}

// parseStatus reads "HTTP/1.1 200 OK".
func parseStatus(line []byte) (int, error) {
	line = bytes.TrimRight(line, "\r\n")
	rest, ok := bytes.CutPrefix(line, []byte("HTTP/1."))
	if !ok || len(rest) < 5 || rest[0] < '0' || rest[0] > '9' || rest[1] != ' ' || len(rest) > 5 && rest[5] != ' ' {
		return 0, fmt.Errorf("%.40q is not an HTTP/1 status line", line)
	}
	code, err := strconv.ParseUint(string(rest[2:5]), 10, 16)
	if err != nil || code < 100 || code > 599 {
		return 0, fmt.Errorf("%.40q has no status between 100 and 599", line)
	}
	return int(code), nil
}
