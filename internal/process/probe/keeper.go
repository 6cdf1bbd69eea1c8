package probe

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// How long Check looks before it holds a worker alive.
const (
	dialPatience = 500 * time.Millisecond // for a connection after another broke
	settle       = 100 * time.Millisecond // for what is dying to be dead
	overdueLook  = time.Second            // for an answer to a health request
)

// Check implements [fleet.Keeper]; the package comment says what counts as
// evidence.
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

// Kill implements [fleet.Keeper]. It cannot kill: it ends the epoch and keeps
// the worker out until it answers a health request.
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

// checkBroken looks for a second signal beside the connection that broke.
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
		// Our fresh connection was cut as well: it may be dying. Look again.
		if !sleep(ctx, l.gone, settle/10) && ctx.Err() != nil {
			return fleet.Alive
		}
	}
}

// allBroken reports whether the wire has no connection left that stands, of two
// at least. Where the worker's socket can be seen, and is the same as before,
// that says more: some servers close all idle connections at once.
func (x *ExternalWorkers) allBroken(r *remote, l *span, broken *int) bool {
	if x.conns == nil || len(l.inodes) > 0 && len(listeners(r.name)) > 0 {
		return false
	}
	alive, n := x.conns(r.name, l.epoch)
	*broken += n
	return alive == 0 && *broken >= 2
}

// checkOverdue asks the worker for a sign of life. Any answer is one: a worker
// that says it is not well does not hang.
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
		// Refused: it has closed its port and the connection stands. It is
		// stopping, and its work may finish. Exhausted: nobody has looked.
		return fleet.Alive
	}
	return fleet.Unresponsive
}

// quiet connects and watches for a moment whether the connection stands. A
// worker that lives has no reason to close what carried nothing yet; one that
// is dying accepts for as long as its port is open and then resets.
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
		return Result{Outcome: Answered} // it speaks first, or stays quiet: it lives
	}
	if !errors.Is(err, io.EOF) {
		return failed(err)
	}
	return Result{Outcome: Broken, Err: err}
}
