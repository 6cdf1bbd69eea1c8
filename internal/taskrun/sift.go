package taskrun

import (
	"context"

	"github.com/bezoar-dev/bezoar/flow"
)

// sift runs a command over the rows of a file.
func (r *Runner) sift(ctx context.Context, a *attempt, env *environment) flow.Ending {
	return r.command(ctx, a, env, a.spec.Sift.Command)
}
