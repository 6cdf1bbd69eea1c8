package cli

import (
	"context"
	"log/slog"
	"strconv"
	"strings"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/flow/flowapi"
	"github.com/bezoar-dev/bezoar/internal/flow/flowlocal"
)

// ordering holds what retry, skip and cancel share.
type ordering struct {
	place
	Reason string `placeholder:"TEXT" help:"Why, for the audit log."`
}

const orderHelp = "If no process runs the state directory, this command runs it until the run is over or waits for a person again, " +
	"with the exit codes of bezoar flow run.\n\n"

type flowRetryCmd struct {
	ordering
	Set   map[string]string `mapsep:"none" placeholder:"NAME=VALUE" help:"A parameter with a new value, for these tasks alone. May be repeated."`
	Group string            `short:"g" placeholder:"GROUP" help:"Only dead letters of this failure group."`
	ID    string            `arg:"" name:"run" help:"The run: its ID, the beginning of it, or last."`
	Rows  bool              `help:"Retry the bad rows that the task named, each alone on standard input."`
	Task  string            `arg:"" optional:"" help:"The task, or TASK[INDEX] for one of its instances (default: all dead letters)."`
}

// Help is shown below the flags.
func (flowRetryCmd) Help() string {
	return "Dead letters get new budgets and keep their history. If several have one cause, one runs first, and the others follow if it works.\n\n" +
		orderHelp + "Example: bezoar flow retry last load --set day=2026-11-28"
}

func (c *flowRetryCmd) Run(s *session) error {
	return c.order(s, c.ID, c.Task, flowapi.Order{Verb: flow.VerbRetry, Group: c.Group, Set: c.Set, Rows: c.Rows})
}

type flowSkipCmd struct {
	ordering
	Group string `short:"g" placeholder:"GROUP" help:"Only instances of this failure group."`
	ID    string `arg:"" name:"run" help:"The run: its ID, the beginning of it, or last."`
	Task  string `arg:"" help:"The task, or TASK[INDEX] for one of its instances."`
}

// Help is shown below the flags.
func (flowSkipCmd) Help() string { return orderHelp + "Example: bezoar flow skip last load[3]" }

func (c *flowSkipCmd) Run(s *session) error {
	return c.order(s, c.ID, c.Task, flowapi.Order{Verb: flow.VerbSkip, Group: c.Group})
}

type flowCancelCmd struct {
	ordering
	ID   string `arg:"" name:"run" help:"The run: its ID, the beginning of it, or last."`
	Task string `arg:"" optional:"" help:"The task, or TASK[INDEX] for one of its instances (default: the run)."`
}

// Help is shown below the flags.
func (flowCancelCmd) Help() string { return orderHelp + "Example: bezoar flow cancel last" }

func (c *flowCancelCmd) Run(s *session) error {
	return c.order(s, c.ID, c.Task, flowapi.Order{Verb: flow.VerbCancel})
}

// ordered is what --json prints if another process carries out the order.
type ordered struct {
	flowapi.Ordered
	Verb flow.Verb `json:"verb"`
}

// order gives an order, and carries it out if no other process does.
func (c *ordering) order(s *session, given, instance string, o flowapi.Order) error {
	var err error
	if o.Task, o.Index, err = instanceOf(instance); err != nil {
		return err
	}
	o.Reason = c.Reason
	flows, local, done, err := c.open(s)
	if err != nil {
		return err
	}
	defer done()
	id, err := s.resolveRun(flows, given)
	if err != nil {
		return err
	}
	if local == nil {
		got, err := flows.Order(s, id, o)
		return s.show(ordered{got, o.Verb}, err, func() {
			s.out.printf("%s: %s of run %s\n", o.Verb, count(int64(got.Instances), "task", "tasks"), got.Run)
		})
	}
	o.Who = me(s.Getenv)
	view := s.newFlowView()
	ctx, _, stop := s.heed(0)
	defer stop()
	defer s.guard(slog.New(slog.NewTextHandler(view, &slog.HandlerOptions{Level: slog.LevelWarn})))()
	return s.runHere(ctx, local, view, 0, func(ctx context.Context, l *flowlocal.Local) (string, error) {
		got, err := l.Flows().Order(ctx, id, o)
		return got.Run, err
	})
}

// instanceOf reads TASK or TASK[INDEX].
func instanceOf(text string) (task string, index *int, err error) {
	name, rest, ok := strings.Cut(text, "[")
	if !ok {
		return text, nil, nil
	}
	n, err := strconv.Atoi(strings.TrimSuffix(rest, "]"))
	if err != nil || n < 0 || !strings.HasSuffix(rest, "]") || name == "" {
		return "", nil, exitf(exitUsage, "task %.100q: want TASK or TASK[INDEX], such as load[3]", clean(text))
	}
	return name, &n, nil
}
