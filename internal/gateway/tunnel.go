package gateway

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// tunnelLinger is how long a caller may take to close after the worker has closed. It is short because the attempt lasts as
// long, and a worker that closed may have died.
const tunnelLinger = 250 * time.Millisecond

// socketLinger is how long a worker may take to close a WebSocket after its caller has closed. Some servers, such as Node.js
// without a library, do not close by themselves.
const socketLinger = time.Second

// tunnel connects caller and worker after a 101 until one of them ends it. It is an attempt in flight for all that time,
// even if nothing moves.
func (j *job) tunnel(c *h1.Conn) dispatch.Result {
	res := dispatch.Result{Status: 101}
	caller, early, err := j.from.Tunnel()
	if err != nil {
		res.Fault, res.Err = dispatch.CallerGone, err
		return res
	}
	worker, answered := c.NetConn()
	if err := worker.SetDeadline(time.Time{}); err != nil {
		res.Fault, res.Err = dispatch.BrokenConn, err
		return res
	}
	stop := context.AfterFunc(j.ctx, func() {
		caller.Close()
		worker.Close()
	})
	defer stop()
	var ends tunnelEnd
	ends.watch(&j.route.Route, func() {
		caller.Close()
		worker.Close()
	})
	web := h1.Fold(j.req.Upgrade, "websocket")
	up, down := pipe{from: caller, to: worker, web: web, ends: &ends}, pipe{from: worker, to: caller, web: web, ends: &ends}
	done := make(chan struct{})
	go func() {
		defer close(done)
		up.run(early)
		switch {
		case !up.ended:
			worker.Close() // nothing more can reach it
		case web:
			_ = worker.SetReadDeadline(time.Now().Add(socketLinger))
		}
	}()
	down.run(answered)
	_ = caller.SetReadDeadline(time.Now().Add(tunnelLinger)) // the caller has closed already, or ends soon
	if !down.ended {
		caller.Close()
	}
	<-done
	j.rec.BytesIn += up.moved
	j.rec.BytesOut += down.moved
	res.Fault, res.Err = verdict(&up, &down, web)
	if !stop() && res.Fault != dispatch.NoFault { // both were closed here, and either may have seen it first
		res.Fault = dispatch.CallerGone
	}
	if rule := ends.stop(); rule != "" {
		j.rec.Rule, res.Fault, res.Err = rule, dispatch.CallerGone, errStreamOver
	}
	return res
}

// verdict tells whose fault the end of a tunnel is. A worker that breaks off may have died; one that sent a close frame has
// not.
func verdict(up, down *pipe, web bool) (dispatch.Fault, error) {
	last := down.err
	if up.at.Before(down.at) {
		switch {
		case up.err != nil && !up.writing:
			return dispatch.CallerGone, up.err
		case up.err != nil:
			last = up.err
		case down.err == nil || down.writing || errors.Is(down.err, os.ErrDeadlineExceeded): // socketLinger is over
			return dispatch.NoFault, nil
		}
	} else if down.writing {
		return dispatch.CallerGone, down.err
	}
	switch {
	case up.frames.closed || down.frames.closed || last == nil && !web:
		return dispatch.NoFault, nil
	case last == nil:
		last = errors.New("the worker closed a WebSocket without a close frame")
	}
	return dispatch.BrokenConn, last
}

// pipe is one direction of a tunnel.
type pipe struct {
	from, to net.Conn
	web      bool
	frames   frames
	ends     *tunnelEnd

	ended   bool      // from has finished sending, and to has been told
	err     error     // nil: from ended cleanly
	writing bool      // err is of a write
	at      time.Time // when it ended
	moved   int64     // bytes
}

// run copies early and then everything from from. It takes the time of the end before the other side can know of it, so
// that the times show which end caused the other.
func (p *pipe) run(early []byte) {
	buf := make([]byte, 16<<10)
	n := copy(buf, early)
	for {
		if n > 0 {
			if p.web {
				p.frames.scan(buf[:n])
			}
			if _, err := p.to.Write(buf[:n]); err != nil {
				p.at, p.err, p.writing = time.Now(), err, true
				return
			}
			p.moved += int64(n)
			p.ends.move(time.Now())
		}
		if early = early[min(n, len(early)):]; len(early) > 0 {
			n = copy(buf, early)
			continue
		}
		var err error
		if n, err = p.from.Read(buf); n > 0 || err == nil {
			continue
		}
		p.at = time.Now()
		if !errors.Is(err, io.EOF) {
			p.err = err
			return
		}
		c, ok := p.to.(interface{ CloseWrite() error })
		p.ended = ok && c.CloseWrite() == nil
		return
	}
}

// frames parses the frames of one direction of a WebSocket, as far as necessary to find a close frame.
type frames struct {
	closed bool
	lost   bool // these are not WebSocket frames

	head [14]byte
	have int   // bytes of head
	left int64 // bytes of payload to come
}

func (f *frames) scan(p []byte) {
	for len(p) > 0 && !f.closed && !f.lost {
		if f.left > 0 {
			n := min(f.left, int64(len(p)))
			f.left -= n
			p = p[n:]
			continue
		}
		f.head[f.have] = p[0]
		f.have++
		p = p[1:]
		f.header()
	}
}

// header parses the header once it is complete.
func (f *frames) header() {
	const opClose = 8
	if f.have < 2 {
		return
	}
	if f.head[0]&0x0f == opClose {
		f.closed = true
		return
	}
	size, n := 2, int64(f.head[1]&0x7f)
	switch n {
	case 126:
		size = 4
	case 127:
		size = 10
	}
	long := f.head[2:size]
	if f.head[1]&0x80 != 0 {
		size += 4
	}
	if f.have < size {
		return
	}
	if len(long) > 0 {
		n = 0
		for _, b := range long {
			n = n<<8 | int64(b)
		}
	}
	f.have, f.left, f.lost = 0, max(n, 0), n < 0
}
