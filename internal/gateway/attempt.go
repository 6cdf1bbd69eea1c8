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

// attempt is one delivery of a request, from getting a connection to the end of the answer.
type attempt struct {
	tries  int              // deliveries of the request so far
	once   bool             // the request may not be sent again
	conn   *h1.Conn         // of the next attempt
	place  *h2.Place        // or this
	target *dispatch.Target // of Send
	wait   wait
	up     *upload // nil without one
	bound  bool    // the worker may take the connection for the caller's
}

// Connect gets a connection to the worker.
func (a *attempt) Connect(ctx context.Context, t *dispatch.Target) (err error) {
	switch pool := t.Worker.Conn().(type) {
	case *h1.Pool:
		if t.Now.IsZero() {
			t.Now = time.Now()
		}
		if a.conn, err = pool.GetAt(ctx, t.By, t.Now, a.once); err != nil || a.conn.Fresh {
			t.Now = time.Time{}
		}
	case *h2.Pool:
		t.Now = time.Time{}
		a.place, err = pool.Get(ctx, t.By)
	default:
		err = fmt.Errorf("connect to worker %s: it was not made with gateway.Connect", t.Worker.Name())
	}
	return err
}

// Drop closes the connection from Connect.
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

// wait bounds the waits of Send. It is the [h1.Watch] of the worker's connection.
type wait struct {
	deadline time.Time // for the head
	head     time.Time // when the head came
	long     time.Time // an answer that goes on longer is a stream; zero: not begun
	by       time.Time // the caller's deadline for the complete answer; zero: none
	begun    bool      // the head has come: only a lost caller ends the wait
}

var (
	errGone    = errors.New("the caller hung up")
	errOverdue = errors.New("the answer is overdue")
	errTimeUp  = fmt.Errorf("%w: its deadline has passed", errGone)
)

// These bounds set how often a wait checks whether the caller is still there.
const (
	firstLook = 100 * time.Millisecond
	slowLook  = time.Second
)
