package taskrun

import "github.com/bezoar-dev/bezoar/flow"

// sift runs a command over the rows of a file.
func (r *Runner) sift(a *attempt, env *environment) flow.Ending {
	return r.command(a, env, a.spec.Sift.Command)
}
