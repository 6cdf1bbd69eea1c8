package child

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// Values that replace a zero in Config.
const (
	DefaultGrace = 5 * time.Second
	DefaultPids  = 256
	DefaultTail  = 64 << 10
	DefaultMark  = "default"
)

// The bounds of a Config.
const (
	MinMemory = 4 << 20 // most runtimes need more to start
	MaxTail   = 16 << 20
	maxMark   = 200 // bytes
)

// Config describes a command that is run once per job.
type Config struct {
	Command []string // program and arguments; may be empty with PerJob
	PerJob  bool     // every job has its own command
	Dir     string   // working directory; "": the current one
	Env     []string // KEY=value, for every job, over Environ
	// Environ is the environment that jobs inherit, as Inherit says; nil: this process's own.
	Environ []string
	Inherit proc.Inherit
	User    string // user of the jobs, see [proc.FindUser]; "": the user of this process

	Timeout time.Duration // per job; 0 means none
	Grace   time.Duration // between SIGTERM and SIGKILL; default 5 s
	Memory  int64         // bytes per job; 0 means no limit
	CPU     time.Duration // processor time per process, in whole seconds; 0 means no limit
	Pids    int           // processes and threads per job; default 256, below 0 means no limit

	// Mark identifies this owner. Jobs carry it, so that [Runner.Sweep] finds jobs left by a dead owner with the same mark.
	// Two owners that run at the same time on one machine need different marks. Default "default".
	Mark string
	Tail int          // bytes kept of each stream; default 64 KiB
	Log  *slog.Logger // nil discards
}

func (c Config) withDefaults() Config {
	c.Grace = cmp.Or(c.Grace, DefaultGrace)
	c.Pids = cmp.Or(c.Pids, DefaultPids)
	c.Tail = cmp.Or(c.Tail, DefaultTail)
	c.Mark = cmp.Or(c.Mark, DefaultMark)
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// Validate returns an error that names every invalid field.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs faults.List
	if err := checkCommand(c.Command); err != nil && (!c.PerJob || len(c.Command) > 0) {
		errs = append(errs, err)
	}
	errs = append(errs, checkEnv("env", c.Env))
	errs.If(c.Timeout < 0, "timeout is %v, want more than 0, or 0 for none", c.Timeout)
	errs.If(c.Grace < 0, "grace is %v, want more than 0", c.Grace)
	errs = append(errs, checkMemory(c.Memory))
	errs.If(c.CPU != 0 && c.CPU < time.Second, "cpu is %v, want at least 1s", c.CPU)
	if _, err := proc.FindUser(c.User); err != nil {
		errs.Add("user: %w", err)
	}
	errs.If(c.Tail < 0 || c.Tail > MaxTail, "tail is %d bytes, want 1 to %d", c.Tail, MaxTail)
	errs.If(len(c.Mark) > maxMark || strings.ContainsAny(c.Mark, "\x00\n"), "mark is %.40q, want one line of at most %d bytes", c.Mark, maxMark)
	return errors.Join(errs...)
}

func checkCommand(command []string) error {
	if len(command) == 0 || command[0] == "" {
		return errors.New("command is empty, want a program and its arguments")
	}
	var errs faults.List
	for i, arg := range command {
		errs.If(strings.Contains(arg, "\x00"), "command[%d] contains a zero byte", i)
	}
	return errors.Join(errs...)
}

func checkMemory(bytes int64) error {
	if bytes != 0 && bytes < MinMemory {
		return fmt.Errorf("memory is %d bytes, want at least %d", bytes, MinMemory)
	}
	return nil
}

func checkEnv(field string, env []string) error {
	var errs []error
	for i, e := range env {
		if k, _, ok := strings.Cut(e, "="); !ok || k == "" || strings.Contains(e, "\x00") {
			errs = append(errs, fmt.Errorf("%s[%d] is not KEY=value", field, i)) // the value may be a secret: not shown
		}
	}
	return errors.Join(errs...)
}
