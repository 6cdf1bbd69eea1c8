package h1

import (
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// Errors of an [Exchange]'s reads.
var (
	// ErrStalled says that the caller sent nothing for the time of [Exchange.Patience]. Reading may go on.
	ErrStalled = errors.New("the caller sent nothing for a while")
	// ErrTooSlow says that the caller exceeded the server's time limits.
	ErrTooSlow = errors.New("the caller is too slow")

	errDrained = errors.New("the server is draining")
	errIdle    = errors.New("the connection was idle for too long")
	errRest    = errors.New("the connection is idle")
	errRoom    = errors.New("others need the connection's place")
)

// Exchange is one request on a caller's connection and its answer. It is reused for the connection's next request, so
// nothing may keep it after the handler has returned. One goroutine answers; another may read the request's body with Next
// meanwhile.
type Exchange struct {
	sock
	srv *Server

	Req      Request
	ConnData any       // the handler's own data, kept between requests that follow soon
	Remote   string    // the caller's IP address
	Began    time.Time // when the request's first byte was seen, or later

	body       Body
	phase      atomic.Int32
	mark       atomic.Int64  // when the current phase began, Unix nanoseconds
	leave      atomic.Bool   // the connection ends unless a handler runs
	halfClosed bool          // see KeepHalfClosed
	served     bool          // a request has been answered
	resting    bool          // it is idle and holds no buffers
	last       time.Time     // end of the previous exchange, or of this one's answer
	opened     time.Time     // when the connection was accepted
	patience   time.Duration // of Next; 0 means none
	readBy     time.Time     // deadline for the body; zero: none
	send       rawOut
	below      *below // the connection below TLS; nil without TLS

	reply
}

// These are the phases of a connection. It is atomic because the drain reads it.
const (
	phaseIdle  int32 = iota // between requests
	phaseHead               // part of a head has come
	phaseBody               // the handler runs, or HTTP/2 with a request
	phaseHTTP2              // HTTP/2 has no request
	phaseShake              // before the handshake of TLS
)

// Wait bounds the waits for the caller's bytes.
func (x *Exchange) Wait(since, now time.Time) (time.Time, error) {
	cfg := &x.srv.cfg
	phase := x.phase.Load()
	if phase != phaseBody && x.leave.Load() {
		return time.Time{}, errRoom
	}
	switch phase {
	case phaseIdle, phaseShake:
		if x.srv.draining.Load() {
			return atMost(time.Unix(0, x.srv.closes.Load()), now, errDrained)
		}
		if phase == phaseShake {
			return atMost(x.opened.Add(cfg.HeadTimeout), now, errIdle)
		}
		if x.mayRest() {
			from := x.last
			if x.below != nil {
				from = since // a read has to find nothing: TLS may hold what has come
			}
			return atMost(from.Add(restAfter), now, errRest)
		}
		return atMost(x.last.Add(cfg.IdleTimeout), now, errIdle)
	case phaseHead:
		return atMost(x.Began.Add(cfg.HeadTimeout), now, ErrTooSlow)
	}
	next := since.Add(cfg.BodyTimeout)
	if !x.readBy.IsZero() && x.readBy.Before(next) {
		next = x.readBy
	}
	if x.patience > 0 {
		if soft := since.Add(x.patience); soft.Before(next) {
			return atMost(soft, now, ErrStalled)
		}
	}
	return atMost(next, now, ErrTooSlow)
}

func atMost(end, now time.Time, err error) (time.Time, error) {
	if !now.Before(end) {
		return time.Time{}, err
	}
	return end, nil
}

// Continue tells a caller that waits (Expect: 100-continue) to send the body. Call it before the first Next, from the
// answering goroutine.
func (x *Exchange) Continue() error {
	if !x.Req.Expect || x.continued {
		return nil
	}
	x.continued = true
	if x.r < x.w {
		return nil // the caller did not wait
	}
	return x.interim(append(x.out, "HTTP/1.1 100 Continue\r\n\r\n"...))
}

// Next returns more of the request's body, as [Body.Next] does.
func (x *Exchange) Next() ([]byte, error) { return x.body.Next() }

// Ready reports whether Next returns without waiting, as [Body.Ready] does.
func (x *Exchange) Ready() bool { return x.body.Ready() }

// BodyDone reports whether the whole body has been read.
func (x *Exchange) BodyDone() bool { return x.body.Done() }

// Whole reports whether the complete body lies in the buffer. Then one call of Next returns it, and it stays valid until the
// handler returns.
func (x *Exchange) Whole() bool {
	return x.body.state == bodyPlain && int64(x.w-x.r) >= x.body.left
}

// Trailers returns the request's trailers once Next has returned io.EOF.
func (x *Exchange) Trailers() []Field { return x.body.Trailers() }

// Patience makes Next return ErrStalled if the caller sends nothing for d; 0 means never. by is the deadline for the
// complete body; zero means none.
func (x *Exchange) Patience(d time.Duration, by time.Time) { x.patience, x.readBy = d, by }

// Interrupt ends a Next in progress and all later ones, from any goroutine.
func (x *Exchange) Interrupt() { x.interrupt() }

// Gone checks, without waiting, whether the caller has hung up. A caller that has only finished sending counts as gone, as
// for net/http and nginx, unless KeepHalfClosed was called. Over TLS the end of the connection counts: the caller's
// close_notify is not decrypted yet.
func (x *Exchange) Gone() bool {
	seen := x.peek()
	if seen == talking && x.below != nil {
		seen = x.beyond()
	}
	switch seen {
	case ended:
		return !x.halfClosed
	case dead:
		return true
	default:
		return false
	}
}

// KeepHalfClosed says that a caller of this request that has finished sending waits for its answer. A caller that has hung
// up in an orderly way looks the same, until the answer is sent.
func (x *Exchange) KeepHalfClosed() { x.halfClosed = true }

// Tunnel ends HTTP on the connection, after Begin with status 101. It returns the connection and the bytes that were read
// from it. The server closes it when the handler returns.
func (x *Exchange) Tunnel() (net.Conn, []byte, error) {
	if err := x.Flush(); err != nil {
		return nil, nil, err
	}
	x.tunnel = true
	if err := x.nc.SetDeadline(time.Time{}); err != nil {
		return nil, nil, err
	}
	return x.nc, x.buffered(), nil
}
