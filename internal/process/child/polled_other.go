//go:build !linux

package child

import "context"

func canPoll() bool { return false }

func (r *Runner) doPolled(context.Context, *Job) Result { return Result{} }

func (p *Process) collectPolled() error { return nil }
