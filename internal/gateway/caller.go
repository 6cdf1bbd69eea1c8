package gateway

import (
	"context"
	"net"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// Doer runs work. [dispatch.Dispatcher] is one.
type Doer interface {
	Do(ctx context.Context, w dispatch.Work, j dispatch.Job) dispatch.Answer
}

// Redriver runs work in the lane, whatever is held against it.
// [dispatch.Dispatcher] is one.
type Redriver interface {
	Redrive(ctx context.Context, w dispatch.Work, j dispatch.Job) dispatch.Answer
}

// Printer identifies work and callers. [fingerprint.Printer] is one.
type Printer interface {
	Work(in *fingerprint.Input) (work, shape bezoar.Fingerprint)
	Client(id string) bezoar.Fingerprint
}

// caller is one request's wire. [h1.Exchange] is one, whose documentation says
// what the methods promise; [stdwire.Exchange] is the one over net/http.
type caller interface {
	bodySource
	answerSink
}

// bodySource is where a request's body comes from.
type bodySource interface {
	Continue() error
	Next() ([]byte, error)
	Ready() bool
	BodyDone() bool
	Trailers() []h1.Field
	Patience(d time.Duration, by time.Time)
	Interrupt()
	Gone() bool
	KeepHalfClosed()
}

// answerSink is where its answer goes to.
type answerSink interface {
	Hint(status int, reason string, fields []h1.Field) error
	Begin(h *h1.Head) error
	Write(p []byte) error
	Flush() error
	End(trailers []h1.Field) error
	Sent() bool
	Reset() bool
	Close()
	Abort()
	Tunnel() (net.Conn, []byte, error)
}

var _ caller = (*h1.Exchange)(nil)

// peer is who is on the other end of a caller's connection.
type peer struct {
	ip     string     // of the other end
	secure bool       // it speaks TLS with us
	http2  bool       // and HTTP/2
	cache  *connCache // kept for the connection; nil when nothing is kept
}

// connCache holds what is expensive to compute and the same for all requests of a
// connection.
type connCache struct {
	s          *settings // under which the rest is true
	clients    admission.ClientCache
	printer    Printer
	id         string
	client     bezoar.Fingerprint
	trustKnown bool // the next field says something
	trusted    bool // the peer is a trusted proxy
}
