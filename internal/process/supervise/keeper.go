package supervise

import (
	"context"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/process/probe"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// How long Check waits.
const (
	exitPatience = 300 * time.Millisecond // for a possible exit
	reportBound  = time.Second            // for a death to be reported
	overdueLook  = time.Second            // for an answer to a health request
)

// substituteTries bounds the processes that are tried in the place of one that may hang.
const substituteTries = 3

var _ fleet.Keeper = (*Supervisor)(nil)

// Check implements [fleet.Keeper].
func (s *Supervisor) Check(ctx context.Context, worker string, epoch uint64, doubt fleet.Doubt) fleet.Health {
	w := s.find(worker)
	if w == nil {
		return fleet.Gone
	}
	l := w.find(epoch)
	if l == nil {
		return fleet.Gone
	}
	if doubt == fleet.Overdue {
		return s.checkOverdue(ctx, l)
	}
	if l.endsWithin(ctx, exitPatience) {
		return fleet.Gone
	}
	return fleet.Alive
}

// checkOverdue sends the worker a health request. Any answer proves that it does not hang, even one that says it is
// unhealthy.
func (s *Supervisor) checkOverdue(ctx context.Context, l *life) fleet.Health {
	p := s.settingsFor(l).Health.probe()
	p.Timeout = overdueLook
	res := p.Do(ctx, l.addr)
	answered := res.Outcome == probe.Answered || res.Outcome == probe.Exhausted // Exhausted: the check was not made
	patience := time.Duration(0)
	if !answered {
		patience = exitPatience / 3 // the check may have failed because the worker is dying
	}
	switch {
	case l.endsWithin(ctx, patience):
		return fleet.Gone
	case answered:
		return fleet.Alive
	}
	return fleet.Unresponsive
}

// endsWithin reports whether the life ends within d and its end has been reported. For a process that is dying, or dead and
// not classified yet, it waits longer: its connections break when it begins to die, and on a busy machine the rest takes
// time.
func (l *life) endsWithin(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-l.exited:
	case <-t.C:
		if !l.dead() && !proc.Dying(l.pid) {
			return false
		}
	case <-ctx.Done():
		return false
	}
	t.Reset(reportBound)
	select {
	case <-l.gone:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

func (l *life) dead() bool {
	select {
	case <-l.exited:
		return true
	default:
		return false
	}
}

// Kill implements [fleet.Keeper]: SIGKILL to the whole group at once.
func (s *Supervisor) Kill(worker string, epoch uint64, why string) {
	w := s.find(worker)
	if w == nil {
		return
	}
	if l := w.find(epoch); l != nil {
		s.log.Warn("worker killed", "worker", worker, "epoch", epoch, "why", why)
		l.kill(why)
	}
}

// Substitute implements [fleet.Keeper].
func (s *Supervisor) Substitute(worker string, epoch uint64, why string) {
	w := s.find(worker)
	if w == nil {
		return
	}
	l := w.find(epoch)
	if l == nil {
		return
	}
	s.log.Warn("worker may hang: another process takes its place", "worker", worker, "epoch", epoch, "why", why)
	go func() {
		for range substituteTries {
			o := order{why: replaced + ": " + why, of: l, done: make(chan error, 1)}
			select {
			case w.replaces <- o:
			case <-l.gone:
				return
			case <-w.left:
				return
			case <-s.over:
				return
			}
			if err := <-o.done; err == nil || l.dead() {
				return
			}
		}
	}()
}
