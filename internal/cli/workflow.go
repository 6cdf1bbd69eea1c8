package cli

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// check refuses flags that do not go together.
func (c *workCmd) check() error {
	switch {
	case !c.Flow && c.Queue == "":
		return exitf(exitUsage, "missing flags: --queue=URL, or --flow")
	case !c.Flow && len(c.Command) == 0:
		return exitf(exitUsage, "missing argument <cmd> ...")
	case !c.Flow && len(c.Label) > 0:
		return exitf(exitUsage, "--label is for --flow")
	case c.Flow && (c.Queue != "" || len(c.Command) > 0):
		return hinted(exitf(exitUsage, "--flow takes no --queue and no CMD"), "tasks of flows bring their own commands")
	case c.Flow && c.Store == nil:
		return exitf(exitUsage, "missing flags: --store=postgres://…, where the flows are")
	}
	return nil
}

// flows runs attempts of flows until a signal ends it.
func (c *workCmd) flows(s *session, log *slog.Logger) error {
	dir := c.State
	if dir == "" {
		c.Queue = "flows:" + *c.Store // its directory is known by this
		root, err := c.stateRoot(s)
		if err != nil {
			return err
		}
		dir = filepath.Join(root, strings.Join(append([]string{"node"}, c.Label...), "-"))
	}
	ctx, _, stop := s.heed(0)
	defer stop()
	defer s.guard(log)()
	limitMemory(log, s.Getenv)
	err := s.Engine.FlowWork(ctx, app.FlowWorker{
		Store: *c.Store, Dir: dir, Labels: c.Label, Slots: c.Concurrency, User: c.User, Log: log,
		Inherit: proc.Inherit{Secrets: []string{tokenVar}, Only: c.EnvOnly, Drop: c.EnvDrop, Keep: c.EnvKeep},
	})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil // a signal asked for the end
	}
	return err
}
