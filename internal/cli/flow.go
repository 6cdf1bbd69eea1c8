package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/flow/flowapi"
	"github.com/bezoar-dev/bezoar/internal/flow/flowlocal"
	"github.com/bezoar-dev/bezoar/internal/triage/tell"
)

type flowCmd struct {
	Run      flowRunCmd      `cmd:"" help:"Run the flow of a file, and show its tasks until they are over."`
	Ls       flowLsCmd       `cmd:"" help:"List runs, the newest first."`
	Show     flowShowCmd     `cmd:"" help:"Show a run: its tasks, what failed and why."`
	Logs     flowLogsCmd     `cmd:"" help:"Print the log of an attempt."`
	Retry    flowRetryCmd    `cmd:"" help:"Run dead letters again: one first, then the others."`
	Skip     flowSkipCmd     `cmd:"" help:"Go on without a task: tasks that need it run."`
	Cancel   flowCancelCmd   `cmd:"" help:"End a run, or one task of it; tasks that need it do not run."`
	Backfill flowBackfillCmd `cmd:"" help:"Run a flow for due times of the past: a canary first, halting on a shared cause."`
	Validate flowValidateCmd `cmd:"" help:"Check flow files."`
	Graph    flowGraphCmd    `cmd:"" help:"Draw a flow file."`
}

// place tells where the runs of flows are.
type place struct {
	Admin string `placeholder:"ADDR" help:"Ask the admin API of a running Bezoar (default: the state directory if it exists, else $$BEZOAR_ADMIN)."`
	State string `placeholder:"DIR" help:"The state directory (default .bezoar/flow)."`
}

func (p place) dir() string {
	if p.State != "" {
		return p.State
	}
	return flowlocal.Default
}

// open connects to the runs. If nobody runs the state directory, local is not nil, and this process owns the directory
// until done is called.
func (p place) open(s *session) (flows flowapi.Flows, local *flowlocal.Local, done func(), err error) {
	admin := p.Admin
	switch {
	case p.Admin != "" && p.State != "":
		return nil, nil, nil, exitf(exitUsage, "both --admin and --state are given, keep one")
	case admin == "" && p.State == "" && !flowlocal.Exists(p.dir()):
		if admin = s.Getenv(adminVar); admin == "" {
			return nil, nil, nil, hinted(exitf(exitNotFound, "no flow has run here: there is no %s", p.dir()), "bezoar flow run FILE; or --admin ADDR, --state DIR")
		}
	}
	if admin != "" {
		c, err := adminapi.New(adminapi.Config{Address: admin, Token: s.Getenv(tokenVar), Actor: me(s.Getenv)})
		if err != nil {
			return nil, nil, nil, &exitError{code: exitUsage, err: err}
		}
		return flowapi.NewClient(c), nil, c.Close, nil
	}
	if !flowlocal.Exists(p.dir()) {
		return nil, nil, nil, exitf(exitNotFound, "%s is not a state directory of flows", clean(p.dir()))
	}
	client, err := flowlocal.Dial(s, p.dir(), me(s.Getenv))
	if err != nil {
		return nil, nil, nil, err
	}
	if client != nil {
		return client, nil, client.Close, nil
	}
	local, err = s.own(p.dir(), flowlocal.Config{}, slog.New(slog.NewTextHandler(s.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return nil, nil, nil, err
	}
	return local.Flows(), local, func() { _ = local.Close() }, nil
}

// own takes a state directory.
func (s *session) own(dir string, c flowlocal.Config, log *slog.Logger) (*flowlocal.Local, error) {
	c.Dir, c.Log = dir, log
	c.Environ, c.Secrets = os.Environ(), append(tell.SecretVars(), tokenVar)
	c.Secret, c.Mail = tell.SecretFrom(s.Getenv), tell.ServerFrom(s.Getenv)
	local, err := flowlocal.Open(s, c)
	if errors.Is(err, flowlocal.ErrInUse) {
		return nil, hinted(&exitError{code: exitNotAllowed, err: err}, "wait for it, or use another directory: --state DIR")
	}
	return local, err
}

// lastRun is the name for the newest run that is not one of bad rows.
const lastRun = "last"

// resolveRun completes the id of a run that is given by its beginning.
func (s *session) resolveRun(flows flowapi.Flows, given string) (string, error) {
	const whole = 26
	if len(given) == whole {
		return given, nil
	}
	list, err := flows.Runs(s, flowapi.RunQuery{Limit: flowapi.MaxPage})
	if err != nil {
		return "", err
	}
	if given == lastRun {
		if len(list) == 0 {
			return "", hinted(exitf(exitNotFound, "there is no run yet"), "bezoar flow run FILE")
		}
		own := slices.IndexFunc(list, func(r flowapi.Run) bool { return r.RowsOf == "" })
		return list[max(own, 0)].ID, nil
	}
	var found []string
	for i := range list {
		if strings.HasPrefix(list[i].ID, strings.ToLower(given)) {
			found = append(found, list[i].ID)
		}
	}
	return oneOf(found, "run", fmt.Sprintf("%.40q", clean(given)))
}
