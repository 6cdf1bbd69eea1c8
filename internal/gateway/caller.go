package gateway

import (
	"context"
	"net"
	"net/netip"
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

// Redriver runs work in the lane, even if it is quarantined. [dispatch.Dispatcher] is one.
type Redriver interface {
	Redrive(ctx context.Context, w dispatch.Work, j dispatch.Job) dispatch.Answer
}

// Printer identifies work and callers. [fingerprint.Printer] is one.
type Printer interface {
	Work(in *fingerprint.Input) (work, shape bezoar.Fingerprint)
	Client(id string) bezoar.Fingerprint
}

// caller is one request's wire to the caller. [h1.Exchange] is one, and documents the methods; [stdwire.Exchange] is the
// one over net/http.
type caller interface {
	bodySource
	answerSink
}

// bodySource provides a request's body.
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

// answerSink takes the answer to a request.
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

// peer is the other end of a caller's connection.
type peer struct {
	ip     string     // of the other end
	secure bool       // the connection uses TLS
	http2  bool       // the connection uses HTTP/2
	local  net.Addr   // our end of the connection, if wire is nil; nil: unknown
	cache  *connCache // kept for the connection; nil: none

	// wire is the exchange of package h1; nil on another wire. The job reads it only for what saves a step.
	wire *h1.Exchange
}

// ownHost is a Host for a request without one, such as those of health checks in HTTP/1.0: the address that the caller
// connected to. Servers such as WEBrick and Starman refuse an empty Host.
func (p *peer) ownHost() string {
	at := p.local
	if p.wire != nil {
		at = p.wire.Local()
	}
	tcp, ok := at.(*net.TCPAddr)
	if !ok {
		return "localhost"
	}
	a := tcp.AddrPort()
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port()).String()
}

// connCache caches expensive facts that are the same for all requests of a connection.
type connCache struct {
	s          *settings // the settings for which the rest is valid
	clients    admission.ClientCache
	printer    Printer
	id         string
	client     bezoar.Fingerprint
	trustKnown bool // trusted is known
	trusted    bool // the peer is a trusted proxy
}
