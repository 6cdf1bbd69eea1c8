package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/h2"
)

// attempt is one delivery of a request, from the connection that it gets to the end of the
// answer.
type attempt struct {
	tries  int              // deliveries of the request so far
	conn   *h1.Conn         // of an attempt that is about to begin
	place  *h2.Place        // or this
	target *dispatch.Target // of Send
	wait   wait
	up     *upload // nil without one
}

// Connect readies a connection to the worker.
func (a *attempt) Connect(ctx context.Context, t *dispatch.Target) (err error) {
	switch pool := t.Worker.Conn().(type) {
	case *h1.Pool:
		a.conn, err = pool.GetBy(ctx, t.By)
	case *h2.Pool:
		a.place, err = pool.Get(ctx, t.By)
	default:
		err = fmt.Errorf("connect to worker %s: it was not made with gateway.Connect", t.Worker.Name())
	}
	return err
}

// Drop closes what Connect readied.
func (a *attempt) Drop() {
	if a.conn != nil {
		a.conn.Release(false)
		a.conn = nil
	}
	if a.place != nil {
		a.place.GiveBack()
		a.place = nil
	}
}

// wait bounds what Send waits for; it is the [h1.Watch] of the worker's
// connection.
type wait struct {
	deadline time.Time // by when the head must be there
	head     time.Time // when the head was there
	long     time.Time // from when on an answer that goes on is a stream; zero until it has begun
	by       time.Time // by when the caller wants all of the answer; zero for no such time
	begun    bool      // the head is there: only a lost caller ends the wait
}

var (
	errGone    = errors.New("the caller hung up")
	errOverdue = errors.New("the answer is overdue")
	errTimeUp  = fmt.Errorf("%w: its deadline has passed", errGone)
)

// Bounds on how often a wait looks whether the caller is still there.
const (
	firstLook = 100 * time.Millisecond
	slowLook  = time.Second
)
