// Package h2 holds HTTP/2 connections to workers. net/http implements the protocol. This package decides which connection a
// request takes, and tells how far a request got when it fails.
//
// A request is sent once. net/http's Transport sends some requests again on its own, so it is not used for requests: each
// connection is an [http.ClientConn], which never does that.
package h2

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync"
	"sync/atomic"
	"time"
)

// ErrPoolClosed is returned for connections to a worker whose epoch has ended.
var ErrPoolClosed = errors.New("the worker's epoch has ended")

// Config is how a [Pool] connects. Only Dial is required.
type Config struct {
	// Dial connects to the worker, ready for the first byte of HTTP/2.
	Dial        func(ctx context.Context, addr string) (net.Conn, error)
	DialTimeout time.Duration // default 1 s
	IdleTimeout time.Duration // until a connection without streams is closed; default 90 s
	MaxHead     int64         // bytes of the head of an answer; default 256 KiB
	Fields      int           // of the head of an answer, for [Place.Fields]
}

// Pool holds the connections to one worker in one epoch. All methods are safe for
// concurrent use.
type Pool struct {
	addr string
	cfg  Config
	tr   *http.Transport

	mu      sync.Mutex // guards what follows
	conns   []*http.ClientConn
	dialing chan struct{} // closed when the current dial is over; nil: none
	closed  bool
}

// NewPool returns a pool for the worker at addr. It connects to nothing yet.
func NewPool(addr string, cfg Config) *Pool {
	cfg.DialTimeout = cmp.Or(cfg.DialTimeout, time.Second)
	cfg.IdleTimeout = cmp.Or(cfg.IdleTimeout, 90*time.Second)
	cfg.MaxHead = cmp.Or(cfg.MaxHead, 256<<10)
	p := &Pool{addr: addr, cfg: cfg}
	p.tr = Transport(func(ctx context.Context) (net.Conn, error) { return cfg.Dial(ctx, addr) })
	p.tr.IdleConnTimeout, p.tr.MaxResponseHeaderBytes = cfg.IdleTimeout, cfg.MaxHead
	return p
}

// stuck is how long a worker may take no bytes before its connection is closed.
const stuck = 30 * time.Second

// Transport returns a transport whose connections speak HTTP/2 from the first byte, for [Connect]. dial does TLS.
func Transport(dial func(ctx context.Context) (net.Conn, error)) *http.Transport {
	only := new(http.Protocols)
	only.SetUnencryptedHTTP2(true)
	return &http.Transport{
		HTTP2:              &http.HTTP2Config{WriteByteTimeout: stuck},
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		Protocols:          only,
		DisableCompression: true, // bodies are passed on unchanged
	}
}

func Connect(ctx context.Context, tr *http.Transport) (*http.ClientConn, error) {
	return tr.NewClientConn(ctx, "http", "worker:80") // dial knows where
}

// Addr returns the worker's address.
func (p *Pool) Addr() string { return p.addr }

// Get reserves a place for a request on a connection. by is a deadline; zero means none. Use the place once, or give it
// back.
func (p *Pool) Get(ctx context.Context, by time.Time) (*Place, error) {
	end := time.Now().Add(p.cfg.DialTimeout)
	if !by.IsZero() && by.Before(end) {
		end = by
	}
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	for {
		cc, wait, err := p.reserve()
		if err != nil {
			return nil, err
		}
		if cc != nil {
			return &Place{addr: p.addr, fields: p.cfg.Fields, cc: cc}, nil
		}
		if wait == nil {
			if err := p.dial(ctx); err != nil {
				return nil, fmt.Errorf("connect to worker %s: %w", p.addr, err)
			}
			continue
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, fmt.Errorf("connect to worker %s: %w", p.addr, ctx.Err())
		}
	}
}

// reserve returns a connection with room. Without one it returns what to wait for, or nil if the caller must dial.
func (p *Pool) reserve() (*http.ClientConn, <-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, ErrPoolClosed
	}
	p.sweep()
	for _, cc := range p.conns {
		if cc.Reserve() == nil {
			return cc, nil, nil
		}
	}
	if p.dialing != nil {
		return nil, p.dialing, nil
	}
	p.dialing = make(chan struct{})
	return nil, nil, nil
}

// sweep drops ended connections, and returns how many. The caller holds mu.
func (p *Pool) sweep() (ended int) {
	kept := p.conns[:0]
	for _, cc := range p.conns {
		if cc.Err() != nil {
			ended++
			continue
		}
		kept = append(kept, cc)
	}
	clear(p.conns[len(kept):])
	p.conns = kept
	return ended
}

// dial makes a connection for everybody who waits for one.
func (p *Pool) dial(ctx context.Context) error {
	cc, err := Connect(ctx, p.tr)
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.dialing)
	p.dialing = nil
	switch {
	case err != nil:
		return err
	case p.closed:
		_ = cc.Close()
		return ErrPoolClosed
	}
	p.conns = append(p.conns, cc)
	return nil
}

// Conns returns how many connections are open, and how many have ended since the last call, as evidence of whether the
// worker lives. It does not count connections that were found ended when a request wanted one: most of those were idle for
// too long, or closed in good order.
func (p *Pool) Conns() (alive, broken int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	broken = p.sweep()
	return len(p.conns), broken
}

// Close closes every connection, also those in use, and refuses new ones.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, cc := range p.conns {
		_ = cc.Close()
	}
	p.conns = nil
	return nil
}

// Place is room for one request on a connection.
type Place struct {
	addr   string
	fields int
	cc     *http.ClientConn
	begun  atomic.Bool // its head was given to the connection
}

func (p *Place) Addr() string { return p.addr }

// Fields returns how many fields an answer may have.
func (p *Place) Fields() int { return p.fields }

// GiveBack gives up a place that was not used.
func (p *Place) GiveBack() { p.cc.Release() }

// RoundTrip sends the request once and uses up the place. After an error, [Place.Unsent] says whether the worker can have
// seen it.
func (p *Place) RoundTrip(req *http.Request, hint func(status int, header http.Header) error) (*http.Response, error) {
	trace := &httptrace.ClientTrace{WroteHeaders: func() { p.begun.Store(true) }}
	if hint != nil {
		trace.Got1xxResponse = func(status int, h textproto.MIMEHeader) error { return hint(status, http.Header(h)) }
	}
	return p.cc.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
}

// Unsent reports whether the worker cannot have seen a request that failed with err: it was not written, or the worker said
// that it skipped it.
func (p *Place) Unsent(err error) bool { return !p.begun.Load() || refused(err) }

// TooLarge reports whether a request failed with err because its head exceeds the worker's announced limit. Then it was not
// written, and the connection goes on. net/http has no name for this error; a test checks its text.
func TooLarge(err error) bool {
	return err != nil && err.Error() == "http2: request header list larger than peer's advertised limit"
}

// streamError has the form of net/http's stream error, so that [errors.As] fills it in.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (streamError) Error() string { return "stream error" }

const refusedStream = 7 // REFUSED_STREAM, RFC 9113 §7

// refused reports whether the worker said that it did not begin the request: it refused the stream, or its GOAWAY named an
// earlier stream as the last one. net/http has no name for the second error; a test checks its text.
func refused(err error) bool {
	if s, ok := errors.AsType[streamError](err); ok {
		return s.Code == refusedStream
	}
	return err != nil && err.Error() == "http2: Transport received Server's graceful shutdown GOAWAY"
}
