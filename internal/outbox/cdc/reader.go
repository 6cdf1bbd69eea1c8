package cdc

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// stalled is the delay of a heartbeat after which the reader counts as stalled.
const stalled = 30 * time.Second

// reader is the common part of a [Feed] and a [Capture]: a slot, its status, and the
// connection that stores the status.
type reader struct {
	c      Config
	schema string // of the outbox

	mu     sync.Mutex // guards the fields below
	status Status
	stream *Stream // nil if no stream runs
}

func (r *reader) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.status
	if r.stream != nil {
		s.PID = r.stream.pid
		s.Position, _ = r.stream.track.position()
		s.Received = LSN(r.stream.received.Load())
		s.Beat = time.Unix(0, r.stream.beaten.Load())
		if silent := time.Since(s.Beat); s.Health == Reading && silent > stalled+5*r.c.Heartbeat {
			s.Health, s.Since = Stalled, s.Beat
			s.Reason = fmt.Sprintf("no heartbeat has come back for %v: changes do not arrive here, or are not processed", silent.Round(time.Second))
		}
	}
	return s
}

// say changes the status. An empty reason keeps the problem found at the start.
func (r *reader) say(h Health, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if reason == "" && (r.status.Health == Starting || r.status.Health == Reading) {
		reason = r.status.Reason
	}
	if r.status.Health != h {
		r.status.Since = time.Now()
	}
	r.status.Slot, r.status.Health, r.status.Reason = r.c.Slot, h, reason
}

// read runs the stream from position together with the heartbeat, until ctx ends or one of
// them fails. It calls beside at each heartbeat; the first call is before reading starts.
func (r *reader) read(ctx context.Context, conn *pgx.Conn, position LSN, to Receiver, beside func(context.Context, *Stream) error) error {
	s, err := r.c.open(ctx, position)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.stream = s
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.stream = nil
		r.mu.Unlock()
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := beside(ctx, s); err != nil {
		_ = s.conn.Close()
		return err
	}
	r.say(Reading, "")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cancel(r.beat(ctx, conn, s, beside))
	}()
	err = s.Run(ctx, to)
	cancel(err)
	<-ended
	return err
}

// beat writes a message into the WAL at every heartbeat, until ctx ends or an error occurs.
// The message is not transactional: it uses no transaction ID and no row.
func (r *reader) beat(ctx context.Context, conn *pgx.Conn, s *Stream, beside func(context.Context, *Stream) error) error {
	tick := time.NewTicker(r.c.Heartbeat)
	defer tick.Stop()
	for {
		if _, err := conn.Exec(ctx, "SELECT pg_logical_emit_message(false, $1, $2::text)", heartbeatPrefix, r.c.Slot); err != nil {
			return fmt.Errorf("write a heartbeat: %w", err)
		}
		if err := beside(ctx, s); err != nil {
			return err
		}
		if err := r.c.tell(ctx, conn, r.schema, r.Status()); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ended stores why the reader stopped, if the database is reachable.
func (r *reader) ended(ctx context.Context, err error) {
	if ctx.Err() != nil {
		r.endedAs(ctx, Stopped, "")
	} else {
		r.endedAs(ctx, Failing, err.Error())
	}
}

func (r *reader) endedAs(ctx context.Context, h Health, reason string) {
	r.say(h, reason)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	conn, err := r.c.connect(ctx)
	if err != nil {
		return // the status already says so
	}
	defer closeConn(conn)
	if err := r.c.tell(ctx, conn, r.schema, r.Status()); err != nil {
		r.c.Log.Warn("cannot store the state of a slot's reader", "slot", r.c.Slot, "error", err)
	}
}
