package worker

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/bezoar-dev/bezoar/internal/process/child"
	"github.com/bezoar-dev/bezoar/internal/process/pool"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// Mode says how a Command is run.
type Mode string

// The modes.
const (
	// ModeProcess starts a process for each message: the body is on its stdin,
	// its exit code says how it ended.
	ModeProcess Mode = ""
	// ModePool keeps processes that take one message at a time over stdin and
	// stdout, without the cost of a start for each.
	ModePool Mode = "pool"
)

// Command is a program that works on messages. The zero Command is none.
type Command struct {
	Args    []string // program and arguments
	Mode    Mode
	Dir     string   // where it runs; "" means here
	Env     []string // KEY=value, over Environ
	Environ []string // what it inherits; nil means our own environment
	Secrets []string // variables that it does not inherit
	Only    []string // the only variables that it inherits, beside PATH, HOME and the like; none: all
	Drop    []string // likewise; a * at the end of a name stands for any end
	Keep    []string // variables that it inherits nevertheless, also those of Bezoar's store and telemetry
	User    string   // whom it runs as: a name or number, and :GROUP; "": as we do

	Memory  int64         // bytes; 0: no limit
	CPU     time.Duration // processor time of a process, in whole seconds; 0: no limit
	Pids    int           // processes and threads; default 256, below 0: no limit
	Grace   time.Duration // between SIGTERM and SIGKILL; default 5 s
	Recycle int           // ModePool: messages until a process is replaced; 0: never for that

	// Output returns where a message's output goes, whole; either may be nil.
	// Without it only the end of each is kept, for the failure's evidence. Both
	// are closed when the message has ended.
	Output func(m *Message) (stdout, stderr io.WriteCloser)
}

func (c *Command) validate() error {
	cfg := c.child("x", time.Minute, nil)
	return errors.Join(cfg.Validate(), c.checkMode())
}

func (c *Command) checkMode() error {
	switch {
	case c.Mode != ModeProcess && c.Mode != ModePool:
		return fmt.Errorf("mode is %.40q, want %q or nothing", c.Mode, ModePool)
	case c.Recycle < 0:
		return fmt.Errorf("recycle is %d, want 0 or more", c.Recycle)
	}
	return nil
}

func (c *Command) grace() time.Duration {
	if c.Grace == 0 {
		return child.DefaultGrace
	}
	return c.Grace
}

func (c *Command) name() string {
	if len(c.Args) == 0 {
		return "the handler"
	}
	return c.Args[0]
}

func (c *Command) child(mark string, timeout time.Duration, w *Config) child.Config {
	cfg := child.Config{
		Command: c.Args, Dir: c.Dir, Env: c.Env, Environ: c.Environ, User: c.User,
		Inherit: proc.Inherit{Secrets: c.Secrets, Only: c.Only, Drop: c.Drop, Keep: c.Keep},
		Timeout: timeout, Grace: c.Grace, Memory: c.Memory, CPU: c.CPU, Pids: c.Pids, Mark: mark,
	}
	if w != nil {
		cfg.Log = w.Log
	}
	return cfg
}

// doer is what child.Runner and pool.Pool have in common.
type doer interface {
	Do(ctx context.Context, j child.Job) child.Result
	Run(ctx context.Context) error
	Sweep(ctx context.Context) (int, error)
	Limits() string
}

// command runs messages in child processes.
type command struct {
	doer
	cfg Command
}

func newCommand(c Config) (*command, error) {
	mark, err := markOf(c)
	if err != nil {
		return nil, err
	}
	cfg := c.Command.child(mark, c.Timeout, &c)
	cmd := &command{cfg: c.Command}
	if c.Command.Mode == ModePool {
		cmd.doer, err = pool.New(pool.Config{Child: cfg, Size: c.Concurrency, Recycle: c.Command.Recycle})
	} else {
		cmd.doer, err = child.New(cfg)
	}
	if err != nil {
		return nil, err
	}
	c.Log.Debug("messages run in child processes", "limits", cmd.Limits())
	return cmd, nil
}

// markOf names the owner of children: the same after a restart, so that what it
// left is found.
func markOf(c Config) (string, error) {
	if c.State == "" {
		return "work-" + rand.Text(), nil // nobody will look for it
	}
	dir, err := filepath.Abs(c.State)
	if err != nil {
		return "", fmt.Errorf("the state directory: %w", err)
	}
	sum := sha256.Sum256([]byte(dir))
	return "work-" + hex.EncodeToString(sum[:8]), nil
}

func (c *command) run(ctx context.Context) error { return c.Run(ctx) }

func (c *command) sweep(ctx context.Context) (int, error) { return c.Sweep(ctx) }

func (c *command) isolated() bool { return true }

func (c *command) do(ctx context.Context, m *Message, started func(pid int)) result {
	job := child.Job{Name: m.ID, Env: environ(m), Stdin: m.Body, Started: started}
	if c.cfg.Output != nil {
		out, err := c.cfg.Output(m)
		if out != nil {
			job.Stdout = out
			defer out.Close()
		}
		if err != nil {
			job.Stderr = err
			defer err.Close()
		}
	}
	if c.cfg.Mode == ModePool {
		job.Message = child.Message{ID: m.ID, Receives: m.Receives, Group: m.Group, Attributes: texts(m.Attributes)}
	}
	r := c.Do(ctx, job)
	return ofChild(&r, c.cfg.Args[0])
}
