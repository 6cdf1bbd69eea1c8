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

// Outcome is how far a health request got.
type Outcome int

// The outcomes.
const (
	Unreachable Outcome = iota // no route or no such host: says little about the worker
	Refused                    // no listener on the port
	TimedOut                   // no answer in time, connected or not
	Broken                     // connected, then closed, reset or answered by another protocol than HTTP
	Answered                   // Status is set
	Exhausted                  // this process has no free descriptor: says nothing about the worker
)

// String returns the outcome's name.
func (o Outcome) String() string {
	if names := [...]string{"unreachable", "refused", "timed out", "broken", "answered", "not checked: this process has no free descriptor"}; uint(o) < uint(len(names)) {
		return names[o]
	}
	return "outcome(" + strconv.Itoa(int(o)) + ")"
}

// Result is the result of one check of a worker.
type Result struct {
	Outcome Outcome
	Status  int   // of the answer; 0 unless Answered
	Err     error // the cause, unless Answered
}

// Healthy reports whether the worker answered with 2xx or 3xx.
func (r Result) Healthy() bool {
	return r.Outcome == Answered && r.Status >= 200 && r.Status < 400
}

// String describes the result for messages: "answered 503", "refused".
func (r Result) String() string {
	if r.Outcome == Answered {
		return "answered " + strconv.Itoa(r.Status)
	}
	return r.Outcome.String()
}

// DefaultTimeout is the default limit of one check.
const DefaultTimeout = time.Second

// The bounds of one check.
const (
	maxHead = 16 << 10              // bytes of an answer's status line and 1xx heads
	maxRest = 64 << 10              // bytes read after it, so that closing does not reset
	goodbye = 50 * time.Millisecond // time limit for those bytes
)

// Probe is one health request over its own connection. It never reuses a connection and never sends a request twice. The
// zero Probe sends HEAD / and waits for [DefaultTimeout].
type Probe struct {
	Path    string        // path of a GET; "": HEAD /
	Host    string        // the Host header; "": the address
	Timeout time.Duration // of the whole check; 0 means DefaultTimeout
	HTTP2   bool          // use HTTP/2
	GRPC    string        // service to check by grpc.health.v1, or WholeServer; needs HTTP2

	dialer *dialer // nil: the zero dialer
}

// Do checks the worker with the given name. It resolves a host name each time.
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
	// Read until the worker closes, so that it sees a normal end and not a reset that it would log.
	_ = conn.SetReadDeadline(time.Now().Add(goodbye))
	_, _ = io.CopyN(io.Discard, conn, maxRest)
	return Result{Outcome: Answered, Status: status}
}

// asks reports whether the check needs a good answer: otherwise any will do.
func (p Probe) asks() bool { return p.Path != "" || p.GRPC != "" }

func (p Probe) dial(ctx context.Context, worker string) (net.Conn, Result) {
	d := dialer{Dialer: quick, http2: p.HTTP2}
	if p.dialer != nil {
		d.host, d.tls = p.dialer.host, p.dialer.tls
	}
	return dial(ctx, worker, d.ready)
}

// open checks that the worker accepts a request.
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

// Open checks that a worker's address has a listener, without sending a byte.
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

// failed classifies an error of an open connection.
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

// readStatus returns the status of the first final answer in r. It skips interim answers (1xx).
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
