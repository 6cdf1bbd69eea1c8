package gateway

import (
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/forwarded"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// ServeHTTP answers a request that came over net/http: with TLS, as HTTP/2, or
// where a program of yours mounts the gateway.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.serveStd(w, r, stdTimeout, stdTimeout)
}

// serveStd gives the caller so long to send more of its body, and to take
// anything of its answer.
func (g *Gateway) serveStd(w http.ResponseWriter, r *http.Request, send, take time.Duration) {
	s := &std{g: g, w: w, r: r, rc: http.NewResponseController(w), send: send, take: take}
	req := new(h1.Request)
	if err := req.Make(r.Method, r.RequestURI, r.Host, fieldsOf(r), r.ContentLength); err != nil {
		var e *h1.Error
		if !errors.As(err, &e) {
			e = &h1.Error{Status: http.StatusBadRequest}
		}
		http.Error(w, http.StatusText(e.Status)+": "+e.Rule, e.Status)
		return
	}
	if r.ProtoMajor == 1 {
		req.Minor = r.ProtoMinor
	}
	s.done = r.Body == nil || req.Length == 0
	defer s.close()
	ip, _, _ := net.SplitHostPort(r.RemoteAddr)
	g.handle(r.Context(), s, req, peer{ip: forwarded.PlainIP(ip), secure: r.TLS != nil, http2: r.ProtoMajor == 2})
	if s.aborted {
		panic(http.ErrAbortHandler)
	}
}

// fieldsOf lists the fields of a request by name: net/http keeps them in a map, and
// copies of a request have to be alike.
func fieldsOf(r *http.Request) []h1.Field {
	fields := make([]h1.Field, 0, len(r.Header)+1)
	for name, values := range r.Header {
		k := h1.KeyOf(name)
		if k == h1.ContentLength || k == h1.Expect {
			continue
		}
		for _, v := range values {
			fields = append(fields, h1.Field{Name: name, Value: v, Key: k})
		}
	}
	slices.SortStableFunc(fields, func(a, b h1.Field) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range slices.Sorted(maps.Keys(r.Trailer)) {
		fields = append(fields, h1.Field{Name: "Trailer", Value: name, Key: h1.Trailer})
	}
	return fields
}

const (
	readSize   = 32 << 10         // the buffer for a body
	stdTimeout = 60 * time.Second // for a caller to send or take anything, where no server says
	stdDiscard = time.Second      // for a body that nobody wants
)

// std is a [caller] over net/http.
type std struct {
	g  *Gateway
	w  http.ResponseWriter
	r  *http.Request
	rc *http.ResponseController

	send, take time.Duration // for the caller to send or take anything

	// Reading.
	buf      *[readSize]byte
	read     bool // the body has been asked for
	done     bool // it has been read
	patience time.Duration
	by       time.Time
	pump     *pump
	stop     atomic.Bool // reads have been interrupted

	// Writing.
	head    *h1.Head // begun but not written
	bare    bool
	sent    bool
	aborted bool
	tunnel  net.Conn
	err     error
}

var _ caller = (*std)(nil)

func (s *std) Ready() bool     { return false }
func (s *std) BodyDone() bool  { return s.done }
func (s *std) KeepHalfClosed() {} // net/http ends the request then
func (s *std) Gone() bool      { return s.r.Context().Err() != nil }
func (s *std) Sent() bool      { return s.sent }
func (s *std) Abort()          { s.aborted = true }

// Continue lets answers begin before the body has ended. Where it is not called,
// as for refusals, net/http reads the rest of a short body itself, so that the
// connection can go on.
func (s *std) Continue() error {
	s.read = true
	if s.r.ProtoMajor == 1 {
		_ = s.rc.EnableFullDuplex() // a writer that cannot reads the body first
	}
	return nil
}

func (s *std) Patience(d time.Duration, by time.Time) { s.patience, s.by = d, by }

// Interrupt ends a read in progress and all later ones, from any goroutine.
func (s *std) Interrupt() {
	s.stop.Store(true)
	_ = s.rc.SetReadDeadline(time.Unix(1, 0))
}

func (s *std) Trailers() []h1.Field { return fieldsFrom(s.r.Trailer) }

func fieldsFrom(h http.Header) []h1.Field {
	var fields []h1.Field
	for name, values := range h {
		for _, v := range values {
			fields = append(fields, h1.Field{Name: name, Value: v, Key: h1.KeyOf(name)})
		}
	}
	return fields
}

// close ends what reads, so that nothing touches the request any more.
func (s *std) close() {
	if s.pump != nil {
		if s.pump.busy {
			s.Interrupt()
		}
		close(s.pump.want)
		s.pump.wg.Wait()
	}
	if s.buf != nil {
		s.g.reads.Put(s.buf)
	}
	if s.tunnel != nil {
		s.tunnel.Close()
	}
}

func (s *std) Hint(status int, _ string, fields []h1.Field) error {
	if s.r.ProtoMajor == 1 && s.r.ProtoMinor == 0 || s.sent {
		return nil
	}
	h := s.w.Header()
	for _, f := range fields {
		h.Add(f.Name, f.Value)
	}
	s.w.WriteHeader(status)
	for _, f := range fields {
		h.Del(f.Name)
	}
	return nil
}

func (s *std) Begin(h *h1.Head) error {
	if !s.read && !s.done {
		_ = s.rc.SetReadDeadline(time.Now().Add(stdDiscard))
	}
	s.head, s.bare = h, h.Bare || s.r.Method == http.MethodHead
	return nil
}

// begin writes the head, with the first bytes of the body or at a flush.
func (s *std) begin() {
	if s.head == nil {
		return
	}
	h := s.w.Header()
	for _, f := range s.head.Fields {
		if f.Key.HopByHop() && f.Key != h1.Trailer {
			continue
		}
		h[http.CanonicalHeaderKey(f.Name)] = append(h[http.CanonicalHeaderKey(f.Name)], f.Value)
	}
	if !s.bare && s.head.Length >= 0 {
		h["Content-Length"] = []string{strconv.FormatInt(s.head.Length, 10)}
	}
	if h["Content-Type"] == nil {
		h["Content-Type"] = nil // nothing is guessed
	}
	s.w.WriteHeader(s.head.Status)
	s.head, s.sent = nil, true
}

func (s *std) Write(p []byte) error {
	if s.err != nil || s.bare {
		return s.err
	}
	s.begin()
	_ = s.rc.SetWriteDeadline(time.Now().Add(s.take))
	_, s.err = s.w.Write(p)
	return s.err
}

func (s *std) Flush() error {
	s.begin()
	if s.err == nil {
		_ = s.rc.SetWriteDeadline(time.Now().Add(s.take))
		s.err = s.rc.Flush()
	}
	return s.err
}

func (s *std) End(trailers []h1.Field) error {
	s.begin()
	for _, f := range trailers {
		s.w.Header().Add(http.TrailerPrefix+f.Name, f.Value)
	}
	return s.err
}

func (s *std) Reset() bool {
	if s.sent || s.err != nil {
		return false
	}
	s.head = nil
	return true
}

// Close asks for the end of the connection after the answer.
func (s *std) Close() {
	if s.r.ProtoMajor == 1 {
		s.w.Header().Set("Connection", "close")
	}
}

func (s *std) Tunnel() (net.Conn, []byte, error) {
	head := s.head
	if head == nil {
		return nil, nil, errors.New("no switch of protocols has begun")
	}
	conn, rw, err := s.rc.Hijack()
	if err != nil {
		return nil, nil, err
	}
	s.tunnel, s.head, s.sent = conn, nil, true
	out := []byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n")
	for _, f := range head.Fields {
		if f.Key != h1.Connection {
			out = h1.AppendField(out, f.Name, f.Value)
		}
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return nil, nil, err
	}
	if _, err := conn.Write(append(out, "\r\n"...)); err != nil {
		return nil, nil, err
	}
	early, err := rw.Reader.Peek(rw.Reader.Buffered())
	return conn, early, err
}
