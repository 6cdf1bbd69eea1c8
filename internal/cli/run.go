package cli

import (
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/config"
)

// runFleet names the one fleet of bezoar run.
const runFleet = "app"

type runCmd struct {
	Replicas *int     `short:"n" placeholder:"N" help:"Copies of CMD to start (default 2)."`
	Listen   *string  `placeholder:"ADDR" help:"Serve callers here (default 127.0.0.1:8080)."`
	Admin    *string  `placeholder:"ADDR" help:"Serve the console, the API and metrics here (default 127.0.0.1:7070); an empty ADDR for none."`
	Store    *string  `placeholder:"STORE" help:"Keep verdicts and dead letters in sqlite:PATH (default sqlite:bezoar.db), postgres://… or memory:."`
	Worker   []string `sep:"none" placeholder:"URL" help:"Front this running worker instead of starting CMD; repeat for each."`

	Health  string         `placeholder:"PATH" help:"Health check path of the workers. Without it, a worker is healthy when its port is open."`
	Grace   *time.Duration `help:"Time from SIGTERM to SIGKILL (default 5s)."`
	Drain   *time.Duration `help:"Time for work in flight to finish before SIGTERM (default 30s)."`
	Delay   *time.Duration `name:"shutdown-delay" placeholder:"TIME" help:"Time after SIGTERM in which callers are still accepted, while /readyz answers 503 (default 0s)."`
	Memory  config.Size    `placeholder:"SIZE" help:"Memory limit of each worker, such as 256MiB."`
	Timeout *time.Duration `help:"Time until a worker must begin its answer (default 30s)."`
	Buffer  *config.Size   `placeholder:"SIZE" help:"Hold bodies up to this size for fingerprint and replay (default 64KiB)."`
	Replay  *config.Replay `placeholder:"WHICH" offer:"idempotent,all,none" help:"Which requests may be repeated after their first byte was sent: idempotent (default), all or none."`
	Ignore  []string       `sep:"none" placeholder:"PART" help:"Leave out of fingerprints: header:NAME, query:NAME, form:NAME or json:$$.a.b; repeatable."`
	Client  string         `placeholder:"HOW" help:"Tell callers apart by header:NAME or ip."`

	After      *int           `placeholder:"N" help:"Number of crashes until quarantine (default 2)."`
	Within     *time.Duration `help:"Time within which these crashes count (default 10m)."`
	For        *time.Duration `help:"First time in quarantine (default 1m). It doubles each time."`
	Max        *time.Duration `help:"Longest time in quarantine (default 1h)."`
	Quarantine bool           `negatable:"" default:"true" help:"Refuse requests that are proven to crash workers (on by default)."`

	Level   slog.Level `name:"log" default:"info" offer:"debug,info,warn,error" placeholder:"LEVEL" help:"Log from this level: debug, info, warn or error."`
	Command []string   `arg:"" optional:"" name:"cmd" help:"The server to run, after --. It reads its port from $$PORT, or from an argument in which you write {port}."`
}

// Help is shown below the flags.
func (runCmd) Help() string {
	return "The command starts and supervises copies of CMD, or fronts servers that run already (--worker).\n\n" +
		"SIGTERM and SIGINT drain and stop. SIGHUP replaces the workers one after another. " +
		"If $" + tokenVar + " is set, it is the admin token.\n\n" +
		"Example: bezoar run -n 8 --health /healthz -- ./server --listen 127.0.0.1:{port}"
}

// Run serves one fleet on one route.
func (c *runCmd) Run(s *session) error {
	if len(c.Worker) > 0 && len(c.Command) > 0 {
		return exitf(exitUsage, "both --worker and a command are given, keep one")
	}
	if len(c.Worker) == 0 && len(c.Command) == 0 {
		return hinted(exitf(exitUsage, "nothing to run"), "bezoar run -n 8 -- ./server, or bezoar run --worker http://127.0.0.1:9101")
	}
	if c.Replicas != nil && *c.Replicas < 1 {
		return exitf(exitUsage, "-n: %d is too little — write 1 or more", *c.Replicas)
	}
	if len(c.Command) > 0 {
		if err := startable(c.Command[0]); err != nil {
			return err
		}
		if arg := missingFile(c.Command); arg != "" {
			s.say("bezoar: warning: the argument %s looks like a file that does not exist", clean(arg))
		}
	}
	cfg := c.settings()
	s.tokenFromEnvironment(&cfg)
	cfg = cfg.Normalize()
	if err := cfg.Validate(); err != nil {
		return &exitError{code: exitUsage, err: inFlagNames(err)}
	}
	return s.serve(cfg, c.Level, Serving{})
}

// settings converts the flags to settings.
func (c *runCmd) settings() config.Config {
	cfg, f, r := config.Default(), config.DefaultFleet(), config.DefaultRoute()
	cfg.StateDir = "" // follows the store
	set(&cfg.Listen, c.Listen)
	set(&cfg.Admin, c.Admin)
	set(&cfg.Store, c.Store)
	set(&cfg.ShutdownDelay, c.Delay)

	f.Command, f.Workers = c.Command, c.Worker
	f.Health.Path, f.Memory = c.Health, c.Memory
	set(&f.Replicas, c.Replicas)
	set(&f.Grace, c.Grace)
	set(&f.Drain, c.Drain)
	cfg.Fleets = map[string]config.Fleet{runFleet: f}

	r.Match.Path, r.Fleet = "/*", runFleet
	set(&r.Timeout, c.Timeout)
	set(&r.Buffer, c.Buffer)
	set(&r.Retry.Replay, c.Replay)
	r.Ignore, r.Client = c.Ignore, c.Client
	set(&r.Quarantine.After, c.After)
	set(&r.Quarantine.Within, c.Within)
	set(&r.Quarantine.For, c.For)
	set(&r.Quarantine.Max, c.Max)
	r.Quarantine.Off = !c.Quarantine
	cfg.Routes = []config.Route{r}
	return cfg
}

// inFlagNames replaces the names of settings in an error by the names of flags.
func inFlagNames(err error) error {
	var faults *config.Faults
	if !errors.As(err, &faults) {
		return err
	}
	lines := make([]string, len(faults.List))
	for i, f := range faults.List {
		f.Path = flagOf(f.Path)
		f.File, f.Line, f.Column = "", 0, 0 // of the setting that the flag overrides
		lines[i] = f.Error()
	}
	return errors.New(strings.Join(lines, "\n        "))
}

func flagOf(path string) string {
	base, _, _ := strings.Cut(path, "[")
	if strings.HasPrefix(path, "routes[0]") {
		base = path[strings.LastIndex(path, ".")+1:]
	}
	base, _, _ = strings.Cut(strings.TrimPrefix(base, "fleets."+runFleet+"."), "[")
	switch base {
	case "command":
		return "CMD"
	case "workers":
		return "--worker"
	case "replicas":
		return "-n"
	case "health.path":
		return "--health"
	}
	return "--" + strings.ReplaceAll(base, "_", "-")
}
