package cli

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/flow/flowfile"
	"github.com/bezoar-dev/bezoar/internal/flow/flowlocal"
)

type flowBackfillCmd struct {
	State    string            `placeholder:"DIR" help:"The state directory (default .bezoar/flow)."`
	Param    map[string]string `short:"p" mapsep:"none" placeholder:"NAME=VALUE" help:"A parameter. May be repeated."`
	From     string            `required:"" placeholder:"TIME" help:"The first due time, as 2006-01-02 or 2006-01-02T15:04:05Z."`
	To       string            `required:"" placeholder:"TIME" help:"The end: due times before it are run."`
	Every    time.Duration     `placeholder:"TIME" help:"Time between due times (default: as the file's schedule says)."`
	Parallel int               `placeholder:"N" default:"4" help:"Runs at once (default ${default})."`
	Halt     int               `placeholder:"N" default:"3" help:"Halt when this many runs fail with one cause (default ${default})."`
	NoCanary bool              `help:"Do not wait for the first run alone."`
	DryRun   bool              `short:"n" help:"Show how many runs there are and how long they take, and start nothing."`
	Slots    int               `placeholder:"N" help:"Attempts at once (default 8)."`

	File string `arg:"" name:"file" help:"The flow file."`
}

// Help is shown below the flags.
func (flowBackfillCmd) Help() string {
	return "The first run goes alone. If it works, the others follow. A cause that several runs share halts the backfill; a run that fails alone " +
		"does not. Run the same command again to go on where it stopped.\n\n" +
		"Exit codes: 0 all runs are SUCCESS, 6 some failed or wait for a person, 1 halted, 2 usage.\n\n" +
		"Example: bezoar flow backfill orders.yaml --from 2026-11-01 --to 2026-11-29 --dry-run"
}

func (c *flowBackfillCmd) Run(s *session) (err error) {
	b, err := c.backfill()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(s.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	ctx, _, stop := s.heed(0)
	defer stop()
	defer s.guard(log)()
	l, err := s.own(place{State: c.State}.dir(), flowlocal.Config{Slots: c.Slots}, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	plan, err := l.Engine().PlanBackfill(ctx, b)
	if err != nil {
		return &exitError{code: exitUsage, err: err}
	}
	if c.DryRun {
		return s.show(plan, nil, func() { s.out.printf("%s\n", cleanLines(plan.Text)) })
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	progress := newLongWork(s)
	st, err := l.Engine().Backfill(ctx, b, func(at flow.BackfillStatus) { s.tellBackfill(at, progress) })
	cancel()
	if failed := <-ended; failed != nil {
		return failed
	}
	return verdictOfBackfill(st, err)
}

func (c *flowBackfillCmd) backfill() (flow.Backfill, error) {
	d, err := flowfile.Load(c.File)
	if err != nil {
		return flow.Backfill{}, flowFileError(err)
	}
	b := flow.Backfill{Definition: d, Params: c.Param, Every: c.Every, Parallel: c.Parallel, Share: c.Halt, NoCanary: c.NoCanary}
	if b.From, err = parseDue(c.From); err != nil {
		return b, err
	}
	if b.To, err = parseDue(c.To); err != nil {
		return b, err
	}
	switch {
	case !b.From.Before(b.To):
		return b, exitf(exitUsage, "--from %s is not before --to %s", c.From, c.To)
	case c.Every <= 0 && d.Schedule == nil:
		return b, exitf(exitUsage, "%s has no schedule: give the time between due times with --every TIME", clean(c.File))
	case c.Parallel < 1 || c.Halt < 1:
		return b, exitf(exitUsage, "--parallel and --halt want 1 or more")
	}
	return b, nil
}

// tellBackfill writes a line for each run that began or ended.
func (s *session) tellBackfill(at flow.BackfillStatus, progress *longWork) {
	if s.json {
		_ = s.line(at) // the next line repeats it
		return
	}
	now, over := s.now(), int64(at.Done+at.Failed)
	if !progress.begun { // the runs of an earlier process say nothing about the speed of this one
		progress.first, progress.begun = over, true
	}
	s.out.printf("%s  backfill %s: %d of %d done, %d running, %d failed%s\n", now.Format("15:04:05"), at.ID, at.Done, at.Runs, at.Running, at.Failed,
		progress.pace(now, over, int64(at.Runs)))
}

func verdictOfBackfill(st flow.BackfillStatus, err error) error {
	list := "bezoar flow ls --backfill " + st.ID
	switch {
	case err != nil:
		return err
	case st.Halted:
		return hinted(exitf(exitFailure, "the backfill has halted: %s", clean(st.Why)), "%s lists its runs; fix the cause, then run the same command again", list)
	case st.Failed > 0:
		return hinted(exitf(exitPartly, "%d of %d runs failed or wait for a person", st.Failed, st.Runs), "%s lists them", list)
	}
	return nil
}
