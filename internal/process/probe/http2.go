package probe

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/gateway/h2"
)

// WholeServer is the value of [Probe.GRPC] for the server as a whole.
const WholeServer = "*"

// doHTTP2 implements Do for HTTP/2.
func (p Probe) doHTTP2(ctx context.Context, worker string) Result {
	var unconnected Result
	tr := h2.Transport(func(ctx context.Context) (net.Conn, error) {
		conn, res := p.dial(ctx, worker)
		if conn == nil {
			unconnected = res
			return nil, res.Err
		}
		return conn, nil
	})
	cc, err := h2.Connect(ctx, tr)
	switch {
	case unconnected.Err != nil:
		return unconnected
	case err != nil:
		return failed(fmt.Errorf("connect to %s: %w", worker, err))
	}
	defer func() { _ = cc.Close() }()
	res, err := cc.RoundTrip(p.requestHTTP2(ctx, worker))
	if err != nil {
		return failed(fmt.Errorf("send the health request to %s by HTTP/2: %w", worker, err))
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxRest))
	if p.GRPC == "" {
		return Result{Outcome: Answered, Status: res.StatusCode}
	}
	if err != nil {
		return failed(fmt.Errorf("read the health answer of %s: %w", worker, err))
	}
	return healthOf(res, body)
}

func (p Probe) requestHTTP2(ctx context.Context, worker string) *http.Request {
	req := &http.Request{
		Method: http.MethodGet, Host: p.Host, Header: http.Header{"User-Agent": {"bezoar-health"}},
		URL: &url.URL{Scheme: "http", Host: hostOf(worker), Opaque: p.Path},
	}
	if strings.HasPrefix(worker, secure) {
		req.URL.Scheme = "https"
	}
	switch {
	case p.GRPC != "":
		req.Method, req.URL.Opaque = http.MethodPost, "/grpc.health.v1.Health/Check"
		req.Header["Content-Type"], req.Header["Te"] = []string{"application/grpc"}, []string{"trailers"}
		req.Body = io.NopCloser(strings.NewReader(healthCheck(p.GRPC)))
		req.ContentLength = -1
	case p.Path == "":
		req.Method, req.URL.Opaque = http.MethodHead, "/"
	}
	return req.WithContext(ctx)
}

// healthCheck returns a framed HealthCheckRequest of grpc.health.v1. Field 1 is the service.
func healthCheck(service string) string {
	var message []byte
	if service != WholeServer {
		message = append(message, 1<<3|2)
		message = binary.AppendUvarint(message, uint64(len(service)))
		message = append(message, service...)
	}
	return string(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))) + string(message)
}

// healthOf reads a HealthCheckResponse. Field 1 is the state.
func healthOf(res *http.Response, body []byte) Result {
	code := res.Trailer.Get("Grpc-Status")
	if code == "" {
		code = res.Header.Get("Grpc-Status") // there was no message
	}
	said := func(status int, format string, args ...any) Result {
		return Result{Outcome: Answered, Status: status, Err: fmt.Errorf("grpc.health.v1: "+format, args...)}
	}
	switch {
	case res.StatusCode != http.StatusOK:
		return said(res.StatusCode, "HTTP status %d", res.StatusCode)
	case code == "":
		return Result{Outcome: Broken, Err: errors.New("grpc.health.v1: the answer has no status")}
	case code == "5":
		return said(http.StatusNotFound, "the server does not know the service")
	case code == "12":
		return said(http.StatusNotImplemented, "the server does not implement it")
	case code != "0":
		return said(http.StatusServiceUnavailable, "status %.20s", code)
	}
	const head, serving = 5, 1
	if len(body) >= head && body[0] == 0 {
		if m := body[head:]; len(m) == 2 && m[0] == 1<<3 {
			if m[1] == serving {
				return Result{Outcome: Answered, Status: http.StatusOK}
			}
			return said(http.StatusServiceUnavailable, "state %d", m[1])
		}
	}
	return said(http.StatusServiceUnavailable, "the state is unknown")
}
