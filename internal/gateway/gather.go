package gateway

import (
	"errors"
	"io"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// Limits on waiting for a body that is to be held.
const (
	// A caller that sends a body of unknown length and pauses may be waiting for
	// us, as in a two-way stream: what has come is sent on.
	maxPause = 100 * time.Millisecond
	// Held bodies must arrive in this time, or buffers could be held for ever;
	// others stream from then on.
	maxGather = 30 * time.Second

	smallBody = 16 << 10 // buffers up to this size stay with their job
)

// gather holds the body, or as much of it as the route's limit and the memory
// for all requests allow.
func (j *job) gather() error {
	if j.req.Length == 0 {
		j.whole = true
		return nil
	}
	if err := j.from.Continue(); err != nil {
		return err
	}
	began := time.Now()
	j.patient(began)
	defer j.from.Patience(0, time.Time{})
	for {
		if len(j.body) >= j.route.Buffer && !j.from.BodyDone() {
			return nil
		}
		if !j.fits() && len(j.body) > 0 && time.Since(began) > maxGather {
			return nil
		}
		p, err := j.from.Next()
		switch {
		case err == nil:
			fits := j.hold(p)
			if j.route.MaxBody > 0 && int64(len(j.body)) > j.route.MaxBody {
				return errTooLarge
			}
			if !fits {
				j.crowded = true
				return nil
			}
		case errors.Is(err, io.EOF):
			if j.whole = len(j.body) <= j.route.Buffer; j.whole {
				j.trailers = j.from.Trailers()
			}
			return nil
		case errors.Is(err, h1.ErrStalled):
			return nil
		default:
			return err
		}
	}
}

// patient says how long to wait for the caller. A body that is known to fit is
// waited for whole; one that is known not to, up to what is held of it, so that
// its fingerprint does not depend on the network.
func (j *job) patient(now time.Time) {
	switch {
	case j.fits():
		by := now.Add(maxGather)
		if !j.by.IsZero() && j.by.Before(by) {
			by = j.by
		}
		j.from.Patience(0, by)
	case j.req.Length < 0:
		j.from.Patience(maxPause, time.Time{})
	}
}

// fits reports whether the body is known to be short enough to be held, or has
// to be.
func (j *job) fits() bool {
	return j.req.Length >= 0 && j.req.Length <= int64(j.route.Buffer) || j.req.Length < 0 && j.route.Enqueue != nil
}

// hold keeps p. It reports false when that was the last that may be held; p is
// kept nevertheless, because it has been taken from the wire.
func (j *job) hold(p []byte) bool {
	need := len(j.body) + len(p)
	fits := j.reserve(int64(need))
	if need > cap(j.body) {
		j.grow(need)
	}
	j.body = append(j.body, p...)
	return fits
}

// reserve claims room for n bytes in the memory for all requests.
func (j *job) reserve(n int64) bool {
	more := n - j.reserved
	if more <= 0 {
		return true
	}
	if j.reserved == 0 && j.req.Length > n {
		more = min(j.req.Length, int64(j.route.Buffer)) // all at once, so that nobody starves halfway
	}
	held := j.g.held.Add(more)
	j.reserved += more
	return held <= j.s.cfg.MaxBuffered
}

// grow makes room for need bytes.
func (j *job) grow(need int) {
	size := max(need, 2*cap(j.body))
	if n := j.req.Length; n > 0 && n <= int64(j.route.Buffer) {
		size = max(need, int(n))
	}
	if size > smallBody && need <= DefaultBuffer && !j.lent {
		if p, ok := j.g.large.Get().(*[DefaultBuffer]byte); ok {
			j.body = append(p[:0], j.body...)
		} else {
			j.body = append(new([DefaultBuffer]byte)[:0], j.body...)
		}
		j.lent = true
		return
	}
	b := make([]byte, len(j.body), size)
	copy(b, j.body)
	j.giveBack()
	j.body = b
}

// giveBack returns a lent buffer.
func (j *job) giveBack() {
	if j.lent {
		j.g.large.Put((*[DefaultBuffer]byte)(j.body[:DefaultBuffer]))
		j.body, j.lent = nil, false
	}
}

// release gives up what is held of the body.
func (j *job) release() {
	if j.reserved > 0 {
		j.g.held.Add(-j.reserved)
		j.reserved = 0
	}
	j.giveBack()
	if cap(j.body) > smallBody {
		j.body = nil
	}
}
