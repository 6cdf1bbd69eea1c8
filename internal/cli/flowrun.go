package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/flow/flowapi"
	"github.com/bezoar-dev/bezoar/internal/flow/flowfile"
	"github.com/bezoar-dev/bezoar/internal/flow/flowlocal"
	"github.com/bezoar-dev/bezoar/policy/task"
)

type flowRunCmd struct {
	State  string            `placeholder:"DIR" help:"The state directory (default .bezoar/flow)."`
	Admin  string            `placeholder:"ADDR" help:"Start the flow with this name on the Bezoar with this admin API, and show its tasks."`
	Param  map[string]string `short:"p" mapsep:"none" placeholder:"NAME=VALUE" help:"A parameter. May be repeated."`
	Due    string            `placeholder:"TIME" help:"The time that it runs for, as 2006-01-02 or 2006-01-02T15:04:05Z (default now)."`
	Slots  int               `placeholder:"N" help:"Attempts at once (default 8)."`
	Label  []string          `placeholder:"LABEL" help:"A label of this machine, for tasks with runs_on. May be repeated."`
	Wait   time.Duration     `placeholder:"TIME" help:"Stop after this time, with exit code 7 (default: never)."`
	Resume bool              `help:"Go on with the last run of the state directory instead of starting one."`

	File string `arg:"" name:"file" optional:"" help:"The flow file; with --admin the name of a flow that the Bezoar has."`
}

// Help is shown below the flags.
func (flowRunCmd) Help() string {
	return "The run is kept in the state directory, with the logs of its attempts. If Bezoar is killed, --resume goes on with it; other runs " +
		"of the directory that are not over go on as well.\n\n" +
		"Exit codes: 0 all tasks are SUCCESS, 1 the run failed, 6 something waits for a person (HELD), 7 timed out waiting.\n\n" +
		"Pages by mail go over the SMTP server $BEZOAR_SMTP (host:port) from $BEZOAR_SMTP_FROM, with the login $BEZOAR_SMTP_USER and " +
		"$BEZOAR_SMTP_PASSWORD. $BEZOAR_FLOW_SECRET signs pages by webhook.\n\n" +
		"Example: bezoar flow run orders.yaml -p day=2026-11-29"
}

func (c *flowRunCmd) Run(s *session) (err error) {
	due, err := parseDue(c.Due)
	switch {
	case err != nil:
		return err
	case c.Admin != "" && (c.State != "" || c.Resume):
		return exitf(exitUsage, "--admin does not go with --state and --resume")
	case c.File == "" && !c.Resume:
		return hinted(exitf(exitUsage, "no flow file is given"), "bezoar flow run FILE, or bezoar flow run --resume")
	case c.File != "" && c.Resume:
		return exitf(exitUsage, "--resume goes on with a run: it takes no FILE")
	case c.Admin != "":
		return c.there(s, due)
	}
	begin := func(ctx context.Context, l *flowlocal.Local) (string, error) { return s.resolveRun(l.Flows(), lastRun) }
	if c.File != "" {
		d, err := flowfile.Load(c.File)
		if err != nil {
			return flowFileError(err)
		}
		if _, err := d.Values(c.Param); err != nil {
			return hinted(&exitError{code: exitUsage, err: err}, "-p NAME=VALUE sets a parameter")
		}
		begin = func(ctx context.Context, l *flowlocal.Local) (string, error) {
			r, err := l.Engine().Start(ctx, flow.StartRequest{Definition: d, Params: c.Param, Due: due})
			return r.ID, err
		}
	}
	view := s.newFlowView()
	log := slog.New(slog.NewTextHandler(view, &slog.HandlerOptions{Level: slog.LevelWarn}))
	ctx, _, stop := s.heed(0)
	defer stop()
	defer s.guard(log)()
	l, err := s.own(place{State: c.State}.dir(), flowlocal.Config{Slots: c.Slots, Labels: c.Label}, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return s.runHere(ctx, l, view, c.Wait, begin)
}

// there starts a flow on a running Bezoar.
func (c *flowRunCmd) there(s *session, due time.Time) error {
	flows, _, done, err := place{Admin: c.Admin}.open(s)
	if err != nil {
		return err
	}
	defer done()
	r, err := flows.Start(s, flowapi.Start{Flow: c.File, Params: c.Param, Due: due})
	if err != nil {
		return err
	}
	ctx, _, stop := s.heed(0)
	defer stop()
	ctx, cancel := patience(ctx, c.Wait)
	defer cancel()
	r, err = watchRun(ctx, flows, r.ID, s.newFlowView(), nil)
	return verdictOf(&r, err)
}

func patience(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if wait <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, wait)
}

// parseDue reads a time in one of several forms.
func parseDue(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, exitf(exitUsage, "time %.40q: want 2006-01-02 or 2006-01-02T15:04:05Z", text)
}

// runHere runs a state directory until the run that begin returns is over.
func (s *session) runHere(ctx context.Context, l *flowlocal.Local, view flowView, wait time.Duration, begin func(context.Context, *flowlocal.Local) (string, error)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		defer stop()
		ended <- l.Run(ctx)
	}()
	watching, cancel := patience(ctx, wait)
	defer cancel()
	id, err := begin(watching, l)
	if err != nil {
		stop()
		return errors.Join(err, <-ended)
	}
	r, err := watchRun(watching, l.Flows(), id, view, l.Settled)
	stop()
	if failed := <-ended; failed != nil {
		return failed
	}
	return verdictOf(&r, err)
}

// verdictOf returns the error with the exit code of a run, and a hint.
func verdictOf(r *flowapi.Run, err error) error {
	again := "nothing is lost: bezoar flow run --resume goes on"
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return hinted(exitf(exitTimedOut, "run %s is not over yet", r.ID), "%s", again)
	case errors.Is(err, context.Canceled):
		return hinted(exitf(exitFailure, "run %s is interrupted", r.ID), "%s", again)
	case err != nil:
		return err
	}
	switch r.State {
	case flow.RunSuccess:
		return nil
	case flow.RunHeld:
		n := r.Counts[task.DeadLetter]
		what := fmt.Sprintf("%s of run %s %s for a person", count(int64(n), "dead letter", "dead letters"), r.ID, plural(n, "waits", "wait"))
		name := clean(firstDead(r))
		return hinted(exitf(exitPartly, "%s", what), "bezoar flow logs %s %s; then bezoar flow retry %s, or bezoar flow skip %s %s", r.ID, name, r.ID, r.ID, name)
	case flow.RunCancelled:
		return exitf(exitFailure, "run %s is cancelled", r.ID)
	default:
		return exitf(exitFailure, "run %s has failed: %s", r.ID, counts(r.Counts))
	}
}

// firstDead names the first dead letter in the tree.
func firstDead(r *flowapi.Run) string {
	for i := range r.Tasks {
		for j := range r.Tasks[i].Instances {
			if in := &r.Tasks[i].Instances[j]; in.State == task.DeadLetter {
				return instanceName(&r.Tasks[i], in)
			}
		}
	}
	return "TASK"
}
