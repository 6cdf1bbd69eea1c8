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

// What Config means by zero.
const (
	DefaultBatchBytes = 32 << 20
	DefaultMaxOutput  = 1 << 30
	MinBatchBytes     = 2 << 20
)

// Config says what is sifted, through what, and where everything goes.
type Config struct {
	Input string    // a file; "" means Stdin
	Stdin io.Reader // read to its end before anything runs
	Rows  rows.Config

	Command []string
	Env     []string      // KEY=value, over our own environment
	Secrets []string      // names of variables that the command does not get
	Timeout time.Duration // of a run; 0 means none
	Grace   time.Duration // from SIGTERM to SIGKILL; default 5 s
	Memory  int64         // bytes per run; 0 means no limit
	// Runner, which runs and is the caller's, runs the command in Dir instead of a
	// runner of our own. Secrets are its own business.
	Runner *child.Runner
	Dir    string
	Stderr io.Writer // gets all of stderr; nil: only its end is kept

	Batch      int   // rows of a run; 0 means sift.DefaultBatch
	BatchBytes int64 // about so many bytes of a run; default 32 MiB
	Parallel   int
	Attempts   int
	Backoff    backoff.Config
	MaxLetters int
	MaxOutput  int64 // bytes that a run may write; default 1 GiB
	Blame      bool

	State string // where to write down how far things are; "" for nowhere
	// Output gets what the command writes. OutputPath, if not "", is a file for
	// it instead.
	Output     io.Writer
	OutputPath string
	// Letters opens where letters go. id names this sifting; a sink that was
	// told some of it before must know them. nil keeps them in the Report only.
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

// Validate reports every impossible field.
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

// sift is the part of the engine's Config that is known without an input.
func (c Config) sift() sift.Config {
	return sift.Config{
		Batch: c.Batch, Parallel: c.Parallel, Attempts: c.Attempts, Backoff: c.Backoff,
		MaxLetters: c.MaxLetters, Blame: c.Blame, Progress: c.Progress,
		Run: noRun, Finish: noFinish, SetAside: noSetAside,
	}
}

// Report is what came of it.
type Report struct {
	sift.Summary
	ID      string
	Limits  string   // which limits hold, and by which means
	Letters []Letter // at most MaxListed of them, with those of earlier runs
	Total   int      // letters in all
}

// MaxListed bounds Report.Letters.
const MaxListed = 1000
