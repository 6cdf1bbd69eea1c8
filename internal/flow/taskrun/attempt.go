package taskrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/crash"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/process/child"
	"github.com/bezoar-dev/bezoar/internal/process/evidence"
)

// errOverdue is the cancel cause of a function or sensor that reached its timeout.
var errOverdue = errors.New("overdue")

// run runs an attempt of any kind.
func (r *Runner) run(ctx context.Context, a *attempt) flow.Ending {
	s := &a.spec
	env, err := r.environ(s)
	if err != nil {
		return notStarted("", err)
	}
	var e flow.Ending
	switch {
	case s.Func != "":
		e = r.function(ctx, a)
	case s.Sensor != nil:
		e = r.look(ctx, a, env)
	case s.Sift != nil:
		e = r.sift(ctx, a, env)
	default:
		e = r.command(ctx, a, env, s.Command)
	}
	env.hide(&e)
	return e
}

// notStarted returns the end of an attempt that never ran.
func notStarted(command string, err error) flow.Ending {
	f := evidence.OfChild(&child.Result{Class: bezoar.SpawnFailed, ExitCode: -1, Detail: err.Error(), Err: err}, command)
	return flow.Ending{
		Class: bezoar.SpawnFailed, Reason: err.Error(), ExitCode: -1, Fingerprint: f.Fingerprint, Group: f.Group, Quality: string(f.Quality),
	}
}

// failed returns the end of an attempt that failed in this process.
func failed(class bezoar.Class, failure, reason string) flow.Ending {
	f := evidence.Failure{Class: class}
	f.Add(crash.OfRun(nil, crash.Ending{Code: 1, Failure: failure}))
	return ofFailure(f, reason)
}

func ofFailure(f evidence.Failure, reason string) flow.Ending {
	reason = cmp.Or(reason, f.Reason)
	return flow.Ending{
		Class: f.Class, Reason: reason, Fingerprint: f.Fingerprint, Group: f.Group, Quality: string(f.Quality), ExitCode: -1,
	}
}

// here returns the context of an attempt in this process.
func here(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, timeout, errOverdue)
}

// stopped returns the end of an attempt in this process whose context has ended; false if it has not.
func stopped(ctx context.Context, timeout time.Duration) (flow.Ending, bool) {
	if ctx.Err() == nil {
		return flow.Ending{}, false
	}
	cause := context.Cause(ctx)
	if errors.Is(cause, errOverdue) {
		return flow.Ending{Class: bezoar.Timeout, Reason: fmt.Sprintf("stopped after %v", timeout), ExitCode: -1}, true
	}
	if why, ok := errors.AsType[*child.Stop](cause); ok {
		return flow.Ending{Class: why.Class, Reason: why.Why, ExitCode: -1}, true
	}
	return flow.Ending{Class: bezoar.Interrupted, Reason: cause.Error(), ExitCode: -1}, true
}
