package rowfeed

import (
	"cmp"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/process/child"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
	"github.com/bezoar-dev/bezoar/internal/process/rows"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/sift"
)

// Values that replace a zero in Config.
const (
	DefaultBatchBytes = 32 << 20
	DefaultMaxOutput  = 1 << 30
	MinBatchBytes     = 2 << 20
)

// Config describes the input, the command and the outputs.
type Config struct {
	Input string    // a file; "" means Stdin
	Stdin io.Reader // read to its end before anything runs
	Rows  rows.Config

	Command []string
	Env     []string      // KEY=value, added to this process's environment
	Secrets []string      // names of variables that the command does not inherit
	Timeout time.Duration // of a run; 0 means none
	Grace   time.Duration // from SIGTERM to SIGKILL; default 5 s
	Memory  int64         // bytes per run; 0 means no limit
	// Runner, if set, runs the command in Dir. It belongs to the caller, must be running, and decides itself about Secrets.
	Runner *child.Runner
	Dir    string
	Stderr io.Writer // receives all of stderr; nil: only its end is kept

	Batch      int   // rows of a run; 0 means sift.DefaultBatch
	BatchBytes int64 // approximate bytes of a run; default 32 MiB
	Parallel   int
	Attempts   int
	Backoff    backoff.Config
	MaxLetters int
	MaxOutput  int64 // bytes that a run may write; default 1 GiB
	Blame      bool

	State string // path of the state file; "": none
	// Output receives the command's output. OutputPath, if not "", is a file that replaces it.
	Output     io.Writer
	OutputPath string
	// Letters opens the sink of letters. id identifies this run. A sink that received some of the run's letters before must
	// recognize them. nil keeps them in the Report only.
	Letters func(id string) (Sink, error)

	Progress func(sift.Progress)
	Log      *slog.Logger // nil discards
}

func (c Config) withDefaults() Config {
	c.BatchBytes = cmp.Or(c.BatchBytes, DefaultBatchBytes)
	c.MaxOutput = cmp.Or(c.MaxOutput, DefaultMaxOutput)
	c.Output = cmp.Or(c.Output, io.Discard)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// Validate returns an error that names every invalid field.
func (c Config) Validate() error {
	c = c.withDefaults()
	errs := faults.List{c.Rows.Validate(), c.child().Validate(), c.sift().Validate()}
	errs.If(c.Input == "" && c.Stdin == nil, "input is missing")
	errs.If(c.BatchBytes < MinBatchBytes, "batch bytes is %d, want at least %d", c.BatchBytes, MinBatchBytes)
	errs.If(c.MaxOutput < 1, "max output is %d bytes, want at least 1", c.MaxOutput)
	return errors.Join(errs...)
}

func (c Config) child() child.Config {
	return child.Config{
		Command: c.Command, Env: c.Env, Inherit: proc.Inherit{Secrets: c.Secrets}, Timeout: c.Timeout, Grace: c.Grace, Memory: c.Memory,
		Log: c.Log,
	}
}

// sift returns the part of the engine's Config that does not depend on the input.
func (c Config) sift() sift.Config {
	return sift.Config{
		Batch: c.Batch, Parallel: c.Parallel, Attempts: c.Attempts, Backoff: c.Backoff,
		MaxLetters: c.MaxLetters, Blame: c.Blame, Progress: c.Progress,
		Run: noRun, Finish: noFinish, SetAside: noSetAside,
	}
}

// Report is the result of Run.
type Report struct {
	sift.Summary
	ID      string
	Limits  string   // which limits are enforced, and how
	Letters []Letter // at most MaxListed, including those of earlier runs
	Total   int      // number of letters
}

// MaxListed is the most letters in Report.Letters.
const MaxListed = 1000
