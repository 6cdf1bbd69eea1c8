package gateway

import (
	"errors"
	"io"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// These bound the wait for a body that is to be held.
const (
	// A caller that sends a body of unknown length and pauses may be waiting for the answer, as in a two-way stream. Then
	// the part that has come is sent on.
	maxPause = 100 * time.Millisecond
	// Held bodies must arrive within this time, otherwise buffers could be held for ever. Slower bodies stream from then
	// on.
	maxGather = 30 * time.Second

	smallBody = 16 << 10 // buffers up to this size stay with their job
)

// gather holds the body, or as much of it as the route's limit and the memory for all requests allow.
func (j *job) gather() error {
	j.body.most = j.route.Buffer
	if j.req.Length == 0 {
		j.body.whole = true
		return nil
	}
	if err := j.from.Continue(); err != nil {
		return err
	}
	if j.borrow() {
		return nil
	}
	j.at = time.Time{}
	began := time.Now()
	j.patient(began)
	defer j.from.Patience(0, time.Time{})
	for {
		if len(j.body.bytes) >= j.route.Buffer && !j.from.BodyDone() {
			return nil
		}
		if !j.fits() && len(j.body.bytes) > 0 && time.Since(began) > maxGather {
			return nil
		}
		p, err := j.from.Next()
		switch {
		case err == nil:
			fits := j.body.hold(p)
			if j.route.MaxBody > 0 && int64(len(j.body.bytes)) > j.route.MaxBody {
				return errTooLarge
			}
			if !fits {
				j.body.crowded = true
				return nil
			}
		case errors.Is(err, io.EOF):
			if j.body.whole = len(j.body.bytes) <= j.route.Buffer; j.body.whole {
				j.body.trailers = j.from.Trailers()
			}
			return nil
		case errors.Is(err, h1.ErrStalled):
			return nil
		default:
			return err
		}
	}
}

// borrow takes a body that has come completely from the connection's buffer, without a copy. It returns false if there is
// no such body or no memory for it, or if a guard may replace it.
func (j *job) borrow() bool {
	x, n := j.client.peer.wire, j.req.Length
	if x == nil || n <= 0 || n > int64(j.route.Buffer) || j.route.MaxBody > 0 && n > j.route.MaxBody || j.route.Guard != nil || !x.Whole() {
		return false
	}
	if !j.body.reserve(n) {
		j.body.GiveBack(0)
		return false
	}
	p, err := j.from.Next()
	if err != nil {
		return false // never: Whole says so
	}
	j.body.own, j.body.borrowed = j.body.bytes, true
	j.body.bytes, j.body.whole = p[:len(p):len(p)], true
	return true
}

// patient sets how long to wait for the caller. If the body is known to fit, gather waits for all of it; if it is known not
// to fit, up to the limit. So the fingerprint does not depend on the network.
func (j *job) patient(now time.Time) {
	switch {
	case j.fits():
		by := now.Add(maxGather)
		if !j.deadline.by.IsZero() && j.deadline.by.Before(by) {
			by = j.deadline.by
		}
		j.from.Patience(0, by)
	case j.req.Length < 0:
		j.from.Patience(maxPause, time.Time{})
	}
}

// fits reports whether the body is known to fit, or must be held.
func (j *job) fits() bool {
	return j.req.Length >= 0 && j.req.Length <= int64(j.route.Buffer) || j.req.Length < 0 && j.route.Enqueue != nil
}
