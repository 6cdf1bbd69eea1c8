package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/store"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/worker"
)

type workCmd struct {
	Queue      string  `short:"q" placeholder:"URL" help:"The queue: its SQS URL, kafka://BROKER/TOPIC?group=GROUP, amqp://BROKER/QUEUE, nats://SERVER/STREAM?consumer=NAME or redis://SERVER/STREAM?group=GROUP (docs/brokers.md), or bezoar:NAME for one in a store on this machine."`
	Store      *string `placeholder:"STORE" help:"Where bezoar:NAME is: sqlite:PATH (default sqlite:bezoar.db) or postgres://…; with --flow, where the flows are."`
	Endpoint   string  `placeholder:"URL" help:"Send SQS calls here, instead of to where the queue's URL says."`
	DeadLetter string  `placeholder:"QUEUE" help:"Where dead letters go, for queues that are not Bezoar's: the URL of an SQS queue (default: where the queue's RedrivePolicy says), or a Kafka topic or RabbitMQ queue (default NAME-dlq)."`
	Downstream string  `placeholder:"NAME" help:"The service that messages depend on; while its breaker is open, no messages are received."`

	Flow  bool     `help:"Instead of messages, run the tasks of flows that a bezoar serve over the same PostgreSQL plans: those whose runs_on names only labels of this node."`
	Label []string `placeholder:"LABEL" help:"With --flow: a label of this node. May be repeated."`

	Concurrency int           `short:"n" placeholder:"N" default:"4" help:"Messages or tasks at a time (default 4)."`
	Timeout     time.Duration `placeholder:"TIME" default:"5m" help:"Time after which a message is stopped (default 5m)."`
	Grace       time.Duration `placeholder:"TIME" default:"5s" help:"Time from SIGTERM to SIGKILL (default 5s)."`
	Memory      config.Size   `placeholder:"SIZE" help:"Memory limit of a message, such as 512MiB."`
	CPU         time.Duration `name:"cpu" placeholder:"TIME" help:"Processor time of a message, such as 60s."`
	Pids        int           `placeholder:"N" default:"256" help:"Processes and threads of a message (default 256; -1 for any number)."`
	Visibility  time.Duration `placeholder:"TIME" default:"30s" help:"How long a lease lasts; it is extended while a message runs (default 30s)."`
	Drain       time.Duration `placeholder:"TIME" default:"30s" help:"Time for running messages to finish when the worker stops (default 30s)."`
	UntilIdle   time.Duration `placeholder:"TIME" help:"Stop after this long without messages (default: never)."`
	Mode        string        `enum:"process,pool" default:"process" help:"process: one CMD per message. pool: copies of CMD that take one message after another (docs/work.md)."`
	Recycle     int           `placeholder:"N" help:"In mode pool: messages until a copy is replaced (default 1000)."`

	User    string   `placeholder:"NAME" help:"Run CMD as this user, NAME or NAME:GROUP; needs root (default: as bezoar runs)."`
	EnvKeep []string `name:"env-keep" placeholder:"NAME" help:"A variable that CMD inherits although it is for Bezoar, such as PGPASSWORD; * at the end for any end."`
	EnvOnly []string `placeholder:"NAMES" help:"CMD inherits these environment variables only, beside PATH, HOME and the like. A name may end in *; separate names by commas."`
	EnvDrop []string `placeholder:"NAMES" help:"CMD does not inherit these environment variables, such as AWS_*."`

	State   string     `placeholder:"DIR" help:"This worker's own directory (default: a free one below ~/.local/state/bezoar/work)."`
	Output  string     `enum:"prefix,raw,none" default:"prefix" help:"How to print what CMD writes: each line after its message's ID (prefix, the default), unchanged (raw) or not at all (none)."`
	Metrics string     `placeholder:"ADDR" help:"Serve metrics for Prometheus here, at /metrics."`
	Level   slog.Level `name:"log" default:"info" offer:"debug,info,warn,error" placeholder:"LEVEL" help:"Log from this level: debug, info, warn or error."`
	Command []string   `arg:"" optional:"" name:"cmd" help:"The command that handles each message, after --."`
}

// Help is shown below the flags.
func (workCmd) Help() string {
	return "CMD gets a message's body on stdin, and its id, receive count, attributes and deadline in $BEZOAR_MESSAGE_ID, " +
		"$BEZOAR_RECEIVE_COUNT, $BEZOAR_ATTRIBUTE_NAME, $BEZOAR_DEADLINE. Exit code 0 means done, 75 try later, 65 never (a dead letter at once); " +
		"any other code is a failure. CMD can report more on descriptor 3, as one line of JSON: class, reason, retry_after, downstream, rows.\n\n" +
		"--json prints a line of JSON for each message that has ended. After SIGTERM or SIGINT the worker receives nothing more, and running messages " +
		"have the time of --drain; those that do not finish go back to the queue. A second signal stops at once.\n\n" +
		"With --flow it takes no queue and no CMD: it runs attempts of flows, keeps their logs below --state, and its --user and --env-… flags " +
		"apply to their commands. Each task defines everything else.\n\n" +
		"Credentials and region come from the usual AWS variables and files. Endpoints other than AWS need none. " +
		"Those of other brokers are in $BEZOAR_BROKER_USER and $BEZOAR_BROKER_PASSWORD, or in the URL.\n\n" +
		"Example: bezoar work --queue http://127.0.0.1:9324/000000000000/jobs --memory 512MiB -- python3 handler.py"
}

// Run works until a signal ends it.
func (c *workCmd) Run(s *session) error {
	if err := c.check(); err != nil {
		return err
	}
	show := newWorkShow(s, c)
	handler := slog.Handler(slog.NewTextHandler(show.log(), &slog.HandlerOptions{Level: c.Level}))
	if s.json {
		handler = slog.NewJSONHandler(show.log(), &slog.HandlerOptions{Level: c.Level})
	}
	if c.Flow {
		return c.flows(s, slog.New(handler))
	}
	cfg, err := c.config(slog.New(handler))
	if err != nil {
		return err
	}
	if err := startable(c.Command[0]); err != nil { // check now, because the first message may come tomorrow
		return err
	}
	cfg.Command.Output = show.output()
	cfg.Observe = show.tell
	var current *worker.Worker
	exit := s.Exit
	s.Exit = func(code int) { // a second signal: no running message is to blame
		if current != nil {
			current.Abort()
		}
		exit(code)
	}
	ctx, _, stop := s.heed(0)
	defer stop()
	if c.Metrics != "" {
		quiet, err := show.serveMetrics(ctx, c.Metrics)
		if err != nil {
			return err
		}
		defer quiet()
	}
	if arg := missingFile(c.Command); arg != "" {
		cfg.Log.Warn("an argument of the command looks like a file that does not exist", "argument", arg)
	}
	defer s.guard(cfg.Log)()
	limitMemory(cfg.Log, s.Getenv)
	var held string // why no message came
	if c.UntilIdle > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		show.whenIdle(ctx, c.UntilIdle, func(why string) { held = why; cancel() })
	}
	work := func(ctx context.Context, source worker.Source) error {
		cfg.Source = source
		return c.work(ctx, s, cfg, show, &current)
	}
	name, direct := strings.CutPrefix(c.Queue, "bezoar:")
	if direct {
		err = c.direct(ctx, s, cfg.Log, name, work)
	} else {
		var source worker.Source
		if source, err = c.source(ctx, s, cfg.Log); err == nil {
			err = closing(source, func(source worker.Source) error { return work(ctx, source) })
		}
	}
	show.end(err)
	if err = c.verdict(ctx, err); err == nil && held != "" {
		err = hinted(exitf(exitFailure, "stopped after %s without messages, but the queue may hold some: %s", c.UntilIdle, held), "run it again once that is over")
	}
	return err
}

// missingFile returns the first argument of a command that is no flag, if it looks like a
// file that does not exist. Otherwise it returns "".
func missingFile(command []string) string {
	for _, arg := range command[1:] {
		if strings.HasPrefix(arg, "-") {
			continue
		}
		named := strings.HasPrefix(arg, "/") || strings.HasPrefix(arg, "./") || strings.HasPrefix(arg, "../") || scriptName.MatchString(arg)
		if _, err := os.Stat(arg); named && errors.Is(err, os.ErrNotExist) {
			return arg
		}
		break
	}
	return ""
}

// scriptName matches names of programs that interpreters run.
var scriptName = regexp.MustCompile(`^[\w./@+-]+\.(py|pyc|js|mjs|cjs|ts|rb|pl|php|sh|bash|lua|jar|r|R|exs?|jl|tcl|dll|ps1)$`)

// direct works on a queue in a store of this machine.
func (c *workCmd) direct(ctx context.Context, s *session, log *slog.Logger, name string, work func(context.Context, worker.Source) error) error {
	cfg, err := config.Queues(func(cfg *config.Config) {
		cfg.SQS, cfg.StateDir = "off", ""
		set(&cfg.Store, c.Store)
	})
	if err != nil {
		return settingsError(err)
	}
	err = s.Engine.Queues(ctx, cfg, log, func(ctx context.Context, e *queue.Engine) error {
		return work(ctx, worker.Direct(e, name))
	})
	if errors.Is(err, store.ErrInUse) {
		return hinted(err, "if bezoar serve holds it, name the queue by its URL, as in --queue http://127.0.0.1:9324/000000000000/%s", clean(name))
	}
	return err
}

// config converts the flags to a worker's settings.
func (c *workCmd) config(log *slog.Logger) (worker.Config, error) {
	cfg := worker.Config{
		Concurrency: c.Concurrency, Timeout: c.Timeout, Visibility: c.Visibility, Drain: c.Drain, Downstream: c.Downstream, Log: log,
		Command: worker.Command{
			Args: c.Command, Secrets: []string{tokenVar}, Only: c.EnvOnly, Drop: c.EnvDrop, Keep: c.EnvKeep, User: c.User,
			Memory: int64(c.Memory), CPU: c.CPU, Pids: c.Pids, Grace: c.Grace, Recycle: c.Recycle,
		},
	}
	if c.Mode == "pool" {
		cfg.Command.Mode = worker.ModePool
	}
	if c.Drain == 0 {
		cfg.Drain = -1
	}
	check := cfg
	check.Source = worker.Direct(nil, "") // it comes later
	if err := check.Validate(); err != nil {
		text := fieldName.ReplaceAllStringFunc(err.Error(), func(field string) string { return "--" + strings.ToLower(field) })
		return cfg, &exitError{code: exitUsage, err: errors.New(strings.ReplaceAll(text, "\n", "\n        "))}
	}
	return cfg, nil
}

// fieldName matches the name of a setting, which is a flag here, at the beginning of an error.
var fieldName = regexp.MustCompile(`(?m)^(Concurrency|Timeout|Visibility|Heartbeat|Drain)\b`)

// work runs a worker in its own state directory.
func (c *workCmd) work(ctx context.Context, s *session, cfg worker.Config, show *workShow, current **worker.Worker) error {
	cfg.State, cfg.Shared = c.State, c.State
	for range 10 { // other workers may start at the same time
		if c.State == "" {
			root, err := c.stateRoot(s)
			if err != nil {
				return err
			}
			if cfg.State, err = worker.FreeState(root); err != nil {
				return err
			}
			cfg.Shared = root
		}
		w, err := worker.New(cfg)
		if err != nil {
			return err
		}
		*current = w
		show.watch(w)
		if err = w.Run(ctx); !worker.InUse(err) || c.State != "" {
			return err
		}
	}
	return exitf(exitFailure, "other workers take all state directories that are tried: name one with --state")
}

// stateRoot returns where the workers of one queue on this machine keep their state.
func (c *workCmd) stateRoot(s *session) (string, error) {
	base := s.Getenv("XDG_STATE_HOME")
	if base == "" {
		home := s.Getenv("HOME")
		if home == "" {
			return "", hinted(exitf(exitUsage, "$HOME is not set, so there is no folder for the worker's state"), "set a directory with --state DIR")
		}
		base = filepath.Join(home, ".local", "state")
	}
	name, id := c.queueName()
	if strings.HasPrefix(id, "bezoar:") {
		at := "sqlite:bezoar.db"
		set(&at, c.Store)
		if dir, err := os.Getwd(); err == nil {
			at += " in " + dir
		}
		id += " of " + at
	}
	sum := sha256.Sum256([]byte(id))
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == ':' || r < ' ' {
			return '-'
		}
		return r
	}, cut(name, 80))
	return filepath.Join(base, "bezoar", "work", name+"-"+hex.EncodeToString(sum[:4])), nil
}

// verdict returns the error with the exit code, and a hint.
func (c *workCmd) verdict(ctx context.Context, err error) error {
	switch {
	case err == nil, ctx.Err() != nil && errors.Is(err, context.Canceled):
		return nil
	case worker.InUse(err):
		return hinted(err, "each worker needs its own --state; without the flag it gets one")
	}
	start, spawn := errors.AsType[*worker.SpawnError](err)
	if spawn {
		if refused := cannotStart(c.Command[0], start.Error()); refused != nil {
			return refused
		}
		err = start // several messages may have met it
	}
	if _, command := errors.AsType[*worker.CommandError](err); spawn || command {
		return hinted(err, "no message is to blame; every one was given back")
	}
	return workError(err)
}
