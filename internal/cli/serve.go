package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/process/cgroup"
)

// tokenVar is the variable that both sides of the admin API know.
const tokenVar = "BEZOAR_ADMIN_TOKEN"

// adminVar is the variable that names the admin API's address to clients.
const adminVar = "BEZOAR_ADMIN"

type serveCmd struct {
	Config   string     `short:"c" placeholder:"FILE" help:"The settings file (default: bezoar.yaml here, if there is one)."`
	Listen   *string    `placeholder:"ADDR" help:"Serve callers at this address, not at the one in the file; an empty ADDR serves none."`
	SQS      *string    `name:"sqs" placeholder:"ADDR" help:"Serve queues to SQS clients at this address, not at the one in the file; off serves none."`
	Admin    *string    `placeholder:"ADDR" help:"Serve the admin API here instead of where the file says; an empty ADDR for none."`
	Store    *string    `placeholder:"STORE" help:"Keep queues, verdicts and dead letters here instead of where the file says."`
	TakeOver bool       `help:"Replace the Bezoar that runs with the same state directory: take its listening sockets, so that no caller is refused, and serve when it has finished what is in flight. If this process ends before it serves, the other one serves again. If none runs, Bezoar just starts."`
	Level    slog.Level `name:"log" default:"info" offer:"debug,info,warn,error" placeholder:"LEVEL" help:"Log from this level: debug, info, warn or error."`
}

// Help is shown below the flags.
func (c *serveCmd) Help() string {
	return "Bezoar follows the file: it applies a change within a second, without dropping a request, and ignores an invalid one. " +
		"SIGHUP reads the file and the folder of flows at once; if the file says live.watch: no, SIGHUP replaces the workers one after another. Without -c and without a bezoar.yaml here, Bezoar serves queues to SQS clients on " + config.DefaultSQS +
		", from an embedded store. SIGTERM and SIGINT drain and stop."
}

// Run serves what the settings name.
func (c *serveCmd) Run(s *session) error {
	edit := func(cfg *config.Config) {
		set(&cfg.Listen, c.Listen)
		set(&cfg.SQS, c.SQS)
		set(&cfg.Admin, c.Admin)
		set(&cfg.Store, c.Store)
		s.tokenFromEnvironment(cfg)
	}
	cfg, path, err := settingsOrQueues(c.Config, edit)
	if faults, ok := errors.AsType[*config.Faults](err); ok && c.gives(faults) {
		return &exitError{code: exitUsage, err: inFlagNames(err)}
	}
	if err != nil {
		return settingsError(err)
	}
	if found := namedFaults(path, &cfg); len(found) > 0 {
		return settingsError(&config.Faults{List: found})
	}
	if c.Listen != nil && *c.Listen != "" && len(cfg.Routes) == 0 {
		s.say("bezoar: warning: --listen %s serves nobody: there are no routes. Write them into a settings file, or use bezoar run", clean(*c.Listen))
	}
	if !cfg.Live.Watch {
		path = ""
	}
	return s.serve(cfg, c.Level, Serving{File: path, Edit: edit, TakeOver: c.TakeOver})
}

// gives reports whether all faults are values of flags.
func (c *serveCmd) gives(faults *config.Faults) bool {
	given := map[string]bool{"listen": c.Listen != nil, "sqs": c.SQS != nil, "admin": c.Admin != nil, "store": c.Store != nil}
	return faults.More == 0 && !slices.ContainsFunc(faults.List, func(f config.Fault) bool { return !given[f.Path] })
}

// defaultFile is the settings file in the current folder.
const defaultFile = "bezoar.yaml"

// set overrides a setting if the flag was given.
func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// tokenFromEnvironment uses the variable that clients read as the server's admin token, unless the settings name another
// source.
func (s *session) tokenFromEnvironment(cfg *config.Config) {
	if cfg.AdminTokenEnv == "" && cfg.AdminTokenFile == "" && s.Getenv(tokenVar) != "" {
		cfg.AdminTokenEnv = tokenVar
	}
}

// settingsError adds the exit code to an error of reading or using settings.
func settingsError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &exitError{code: exitNotFound, err: err, hint: "name the file: bezoar serve -c FILE, bezoar config check FILE"}
	case errors.Is(err, fs.ErrPermission):
		return &exitError{code: exitNotAllowed, err: err}
	case errors.Is(err, syscall.EISDIR):
		return &exitError{code: exitUsage, err: err}
	}
	if _, ok := errors.AsType[*config.Faults](err); ok {
		return &exitError{code: exitFailure, err: fmt.Errorf("the settings cannot be used\n%w", err)}
	}
	return err
}

// serve runs cfg until a signal ends it, and follows the settings file if there is one.
func (s *session) serve(cfg config.Config, level slog.Level, serving Serving) error {
	for _, w := range cfg.Warnings() {
		s.say("bezoar: warning: %s", w)
	}
	ctx, told, stop := s.heed(cfg.ShutdownDelay)
	defer stop()
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler = slog.NewTextHandler(s.Stderr, options)
	if s.json {
		handler = slog.NewJSONHandler(s.Stderr, options)
	}
	serving.Log, serving.Output, serving.Restart = slog.New(handler), s.workerOutput(), told.hup
	serving.Leave = told.leaving
	limitMemory(serving.Log, s.Getenv)
	serving.Ready = func(listen, sqs, admin string) {
		if listen != "" {
			s.say("bezoar: serving on %s://%s", scheme(cfg.TLS != nil), listen)
		}
		if sqs != "" {
			s.say("bezoar: sqs endpoint on %s://%s", scheme(cfg.SQSTLS != nil), sqs)
		}
		if admin != "" {
			s.say("bezoar: console and API on http://%s/", admin)
		}
		if err := s.tellManager("READY=1"); err != nil {
			s.say("bezoar: warning: the service manager was not told that Bezoar is ready: %v", err)
		}
	}
	if serving.File != "" || slices.ContainsFunc(slices.Collect(maps.Values(cfg.Fleets)), func(f config.Fleet) bool { return len(f.Command) > 0 }) {
		defer s.guard(serving.Log)()
	}
	err := s.Engine.Serve(ctx, cfg, serving)
	if errors.Is(err, context.Canceled) && (ctx.Err() != nil || told.stops()) {
		return nil // a signal asked for the end
	}
	return err
}

// tellManager sends a state to the service manager, as sd_notify(3) does. Without a service manager it does nothing.
func (s *session) tellManager(state string) error {
	at := s.Getenv("NOTIFY_SOCKET")
	if at == "" {
		return nil
	}
	c, err := new(net.Dialer).DialContext(s, "unixgram", at)
	if err != nil {
		return err
	}
	_, err = io.WriteString(c, state)
	return errors.Join(err, c.Close())
}

func scheme(tls bool) string {
	if tls {
		return "https"
	}
	return "http"
}

// limitMemory keeps the Go runtime within the memory that the kernel allows.
func limitMemory(log *slog.Logger, getenv func(string) string) {
	limit, allowed, err := cgroup.LimitRuntime(getenv)
	switch {
	case err != nil:
		log.Warn("cannot read how much memory there is; set GOMEMLIMIT", "err", err)
	case limit > 0:
		log.Info("memory is limited: garbage is collected in time", "group_mib", allowed>>20, "gomemlimit_mib", limit>>20)
	}
}

// workerOutput prints the workers' output, each line with its worker's name: stdout to stdout, stderr to stderr, or both as
// JSON lines to stdout.
func (s *session) workerOutput() func(worker, stream, line string) {
	var mu sync.Mutex // keeps lines whole
	return func(worker, stream, line string) {
		mu.Lock()
		defer mu.Unlock()
		if s.json {
			// Stdout may be closed; that must not stop serving.
			_ = json.NewEncoder(s.Stdout).Encode(struct {
				Worker string `json:"worker"`
				Stream string `json:"stream"`
				Line   string `json:"line"`
			}{worker, stream, line})
			return
		}
		var w io.Writer = s.Stdout
		if stream == "stderr" {
			w = s.Stderr
		}
		s.pass(w, worker, line)
	}
}
