package stdwire

import (
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// fieldsOf lists the fields of a request by name. net/http keeps them in a map, and copies of a request must have the same
// order.
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

// ReadSize is the size of a buffer for a body.
const ReadSize = 32 << 10

// discard is how long the rest of an unwanted body is read.
const discard = time.Second

// Exchange is one request and its answer. Create it with [New].
type Exchange struct {
	reads *sync.Pool // of *[ReadSize]byte
	w     http.ResponseWriter
	r     *http.Request
	rc    *http.ResponseController

	send, take time.Duration // for the caller to send or take bytes

	// Reading.
	buf      *[ReadSize]byte
	read     bool // reading has begun
	done     bool // it has been read
	patience time.Duration
	by       time.Time
	pump     *pump
	stop     atomic.Bool   // reads have been interrupted
	halt     chan struct{} // wakes a read over HTTP/2 that is interrupted

	// Writing.
	head     *h1.Head // begun but not written
	bare     bool
	sent     bool
	aborted  bool
	trailers bool // there are some, or it is a call of gRPC
	tunnel   net.Conn
	err      error
}

// New returns the exchange of a request. send and take are the times in which the caller must send more of its body, and
// take bytes of its answer. Buffers for bodies, *[ReadSize]byte, come from reads. The caller must call Release.
func New(w http.ResponseWriter, r *http.Request, send, take time.Duration, reads *sync.Pool) *Exchange {
	s := &Exchange{reads: reads, w: w, r: r, rc: http.NewResponseController(w), send: send, take: take}
	if r.ProtoMajor == 2 && r.ContentLength != 0 {
		s.halt = make(chan struct{}, 1)
	}
	return s
}

// Request returns the head of the request, or an [*h1.Error] with its fault.
func (s *Exchange) Request() (*h1.Request, error) {
	r, req := s.r, new(h1.Request)
	if err := req.Make(r.Method, r.RequestURI, r.Host, fieldsOf(r), r.ContentLength); err != nil {
		return nil, err
	}
	if r.ProtoMajor == 1 {
		req.Minor = r.ProtoMinor
	}
	s.done = r.Body == nil || req.Length == 0
	return req, nil
}

// Aborted reports whether the connection is to be cut.
func (s *Exchange) Aborted() bool { return s.aborted }

// Ready always returns false: net/http does not tell whether more of the body has come.
func (s *Exchange) Ready() bool { return false }

// BodyDone reports whether the body has been read to its end.
func (s *Exchange) BodyDone() bool { return s.done }

// KeepHalfClosed does nothing: net/http ends the request of a caller that stops sending.
func (s *Exchange) KeepHalfClosed() {}

// Gone reports whether the caller has hung up.
func (s *Exchange) Gone() bool { return s.r.Context().Err() != nil }

// Sent reports whether the answer can no longer be taken back.
func (s *Exchange) Sent() bool { return s.sent }

// Abort makes the connection be cut when the request ends.
func (s *Exchange) Abort() { s.aborted = true }

// Continue allows an answer to begin before the body has ended. Without it, as for refusals, net/http reads the rest of a
// short body itself, so that the connection can go on.
func (s *Exchange) Continue() error {
	s.read = true
	if s.r.ProtoMajor == 1 {
		_ = s.rc.EnableFullDuplex() // a writer without it reads the body first
	}
	return nil
}

// Patience bounds the waits of reads of the body: for each wait, and in total.
func (s *Exchange) Patience(d time.Duration, by time.Time) { s.patience, s.by = d, by }

// Interrupt ends a read in progress and all later ones, from any goroutine.
func (s *Exchange) Interrupt() {
	s.stop.Store(true)
	if s.halt == nil {
		s.endReads()
		return
	}
	select {
	case s.halt <- struct{}{}:
	default:
	}
}

// endReads makes the read in progress fail. Over HTTP/2 the rest of the body is lost.
func (s *Exchange) endReads() { _ = s.rc.SetReadDeadline(time.Unix(1, 0)) }

// Trailers returns the trailers of the body, once it has ended.
func (s *Exchange) Trailers() []h1.Field { return Fields(s.r.Trailer) }

// Fields lists the fields of a net/http header, in random order.
func Fields(h http.Header) []h1.Field {
	var fields []h1.Field
	for name, values := range h {
		for _, v := range values {
			fields = append(fields, h1.Field{Name: name, Value: v, Key: h1.KeyOf(name)})
		}
	}
	return fields
}

// Release ends the goroutines that read, so that nothing touches the request any more.
func (s *Exchange) Release() {
	if s.pump != nil {
		if s.pump.busy {
			s.endReads()
		}
		close(s.pump.want)
		s.pump.wg.Wait()
	}
	if s.buf != nil {
		s.reads.Put(s.buf)
	}
	if s.tunnel != nil {
		s.tunnel.Close()
	}
}

// Hint sends an interim answer.
func (s *Exchange) Hint(status int, _ string, fields []h1.Field) error {
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

// Begin keeps the head until the first bytes of the body, or a flush.
func (s *Exchange) Begin(h *h1.Head) error {
	if !s.read && !s.done {
		_ = s.rc.SetReadDeadline(time.Now().Add(discard))
	}
	s.head, s.bare = h, h.Bare || s.r.Method == http.MethodHead
	return nil
}

// begin writes the head, with the first bytes of the body or at a flush.
func (s *Exchange) begin() {
	if s.head == nil {
		return
	}
	h := s.w.Header()
	for _, f := range s.head.Fields {
		if f.Key.HopByHop() && f.Key != h1.Trailer {
			continue
		}
		s.trailers = s.trailers || f.Key == h1.Trailer || f.Key == h1.ContentType && strings.HasPrefix(f.Value, "application/grpc")
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

// Write sends more of the body.
func (s *Exchange) Write(p []byte) error {
	if s.err != nil || s.bare {
		return s.err
	}
	s.begin()
	_ = s.rc.SetWriteDeadline(time.Now().Add(s.take))
	_, s.err = s.w.Write(p)
	return s.err
}

// Flush sends all buffered data, including the head.
func (s *Exchange) Flush() error {
	s.begin()
	if s.err == nil {
		_ = s.rc.SetWriteDeadline(time.Now().Add(s.take))
		s.err = s.rc.Flush()
	}
	return s.err
}

func (s *Exchange) End(trailers []h1.Field) error {
	s.begin()
	s.trailers = s.trailers || len(trailers) > 0
	for _, f := range trailers {
		s.w.Header().Add(http.TrailerPrefix+f.Name, f.Value)
	}
	return s.err
}

// Reset takes the answer back, unless some of it has been sent.
func (s *Exchange) Reset() bool {
	if s.sent || s.err != nil {
		return false
	}
	s.head = nil
	return true
}

// Close makes the connection end after the answer.
func (s *Exchange) Close() {
	if s.r.ProtoMajor == 1 {
		s.w.Header().Set("Connection", "close")
	}
}

// Tunnel takes the connection over, for another protocol.
func (s *Exchange) Tunnel() (net.Conn, []byte, error) {
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
