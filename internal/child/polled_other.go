//go:build !linux

package child

import "context"

func canPoll() bool { return false }

func (r *Runner) doPolled(context.Context, *Job, *slot) Result { return Result{} }

func (p *Process) collectPolled() error { return nil }
