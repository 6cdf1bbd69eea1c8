package taskrun

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/crash"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/process/evidence"
)

// function runs a function in this process.
func (r *Runner) function(ctx context.Context, a *attempt) flow.Ending {
	s := &a.spec
	f := r.cfg.Functions[s.Func]
	if f == nil {
		return notStarted(s.Func, fmt.Errorf("this program has no function %q", s.Func))
	}
	ctx, cancel := here(ctx, s.Timeout)
	defer cancel()
	output, err := call(ctx, f, s.Input)
	if err == nil {
		if len(output) > flow.MaxOutput {
			return failed(bezoar.Invalid, "output", fmt.Sprintf("its output has %d bytes, more than %d", len(output), flow.MaxOutput))
		}
		return flow.Ending{Output: output}
	}
	fmt.Fprintln(a.log, err)
	if p, ok := errors.AsType[*panicError](err); ok {
		_, _ = a.log.Write(p.stack)
		return ofFailure(evidence.OfPanic(p.value, p.stack), "")
	}
	if e, ok := stopped(ctx, s.Timeout); ok && errors.Is(err, ctx.Err()) {
		return e
	}
	failure := evidence.Failure{Class: bezoar.Bug}
	failure.Add(crash.FromError(err))
	if said, ok := errors.AsType[flow.Classified](err); ok {
		failure.Class = said.Class()
	}
	return ofFailure(failure, err.Error())
}

type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

func call(ctx context.Context, f flow.Func, in flow.Input) (output []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{value: v, stack: debug.Stack()}
		}
	}()
	return f(ctx, in)
}
