package probe

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// How long Check takes before it decides that a worker is alive.
const (
	dialPatience = 500 * time.Millisecond // for a new connection after another broke
	settle       = 100 * time.Millisecond // for a dying worker to be dead
	overdueLook  = time.Second            // for an answer to a health request
)

// Check implements [fleet.Keeper]. The package comment says what counts as evidence.
func (x *ExternalWorkers) Check(ctx context.Context, worker string, epoch uint64, doubt fleet.Doubt) fleet.Health {
	r := x.find(worker)
	if r == nil {
		return fleet.Gone
	}
	l := r.find(epoch)
	if l == nil {
		return fleet.Gone
	}
	if doubt == fleet.Overdue {
		return x.checkOverdue(ctx, r, l)
	}
	return x.checkBroken(ctx, r, l)
}

// Kill implements [fleet.Keeper]. It cannot kill the worker: it ends the epoch and keeps work away from the worker until it
// answers a health request.
func (x *ExternalWorkers) Kill(worker string, epoch uint64, why string) {
	r := x.find(worker)
	if r == nil {
		return
	}
	if l := r.find(epoch); l != nil {
		x.end(r, l, fleet.End{
			Class: bezoar.Timeout, At: time.Now(), ExitCode: -1,
			Detail: why + "; it cannot be killed from here and is kept out until it answers",
		})
	}
}

// checkBroken looks for further evidence besides the broken connection.
func (x *ExternalWorkers) checkBroken(ctx context.Context, r *remote, l *span) fleet.Health {
	deadline := time.Now().Add(3 * settle)
	broken := 0
	for {
		if l.over() {
			<-l.gone
			return fleet.Gone
		}
		res := quiet(ctx, r.name)
		switch {
		case res.Outcome == Refused:
			x.end(r, l, crash("a connection broke and the next was refused"))
			return fleet.Gone
		case replaced(l.inodes, listeners(r.name)):
			x.end(r, l, crash("a connection broke and another process listens on its port"))
			return fleet.Gone
		case x.allBroken(r, l, &broken):
			x.end(r, l, crash("all its connections broke"))
			return fleet.Gone
		case res.Outcome == TimedOut:
			return fleet.Unresponsive
		case res.Outcome != Broken || time.Now().After(deadline):
			return fleet.Alive
		}
		// Our new connection was cut as well: the worker may be dying. Check again.
		if !sleep(ctx, l.gone, settle/10) && ctx.Err() != nil {
			return fleet.Alive
		}
	}
}

// allBroken reports whether all of the wire's connections broke, and at least two. If the worker's socket is visible and
// unchanged, that is stronger evidence: some servers close all idle connections at once.
func (x *ExternalWorkers) allBroken(r *remote, l *span, broken *int) bool {
	if x.conns == nil || len(l.inodes) > 0 && len(listeners(r.name)) > 0 {
		return false
	}
	alive, n := x.conns(r.name, l.epoch)
	*broken += n
	return alive == 0 && *broken >= 2
}

// checkOverdue sends the worker a health request. Any answer proves that it does not hang, even one that says it is
// unhealthy.
func (x *ExternalWorkers) checkOverdue(ctx context.Context, r *remote, l *span) fleet.Health {
	p := x.probeOf(r)
	p.Timeout = overdueLook
	res := p.Do(ctx, r.name)
	switch {
	case l.over():
		<-l.gone
		return fleet.Gone
	case replaced(l.inodes, listeners(r.name)):
		x.end(r, l, crash("another process listens on its port"))
		return fleet.Gone
	case res.Outcome == Answered, res.Outcome == Refused, res.Outcome == Exhausted:
		// Refused: the worker has closed its port but keeps the connection. It is shutting down, and its work may finish.
		// Exhausted: the check was not made.
		return fleet.Alive
	}
	return fleet.Unresponsive
}

// quiet connects and waits briefly for the connection to break. A live worker has no reason to close a connection that has
// carried nothing. A dying one accepts connections while its port is open, and then resets them.
func quiet(ctx context.Context, addr string) Result {
	dctx, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	conn, res := bareDial(dctx, addr)
	if conn == nil {
		return res
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(settle))
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })()
	var b [1]byte
	_, err := conn.Read(b[:])
	if err == nil || isTimeout(err) {
		return Result{Outcome: Answered} // whether it speaks first or says nothing: it is alive
	}
	if !errors.Is(err, io.EOF) {
		return failed(err)
	}
	return Result{Outcome: Broken, Err: err}
}

// Substitute implements [fleet.Keeper]. Somebody else starts the workers.
func (x *ExternalWorkers) Substitute(string, uint64, string) {}
