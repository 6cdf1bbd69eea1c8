package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/process/rowfeed"
	"github.com/bezoar-dev/bezoar/internal/process/rows"
	"github.com/bezoar-dev/bezoar/sift"
)

type siftCmd struct {
	remote
	Input      string `short:"i" placeholder:"FILE" help:"Read the rows here instead of from stdin."`
	Format     string `short:"f" enum:"auto,lines,ndjson,csv" default:"auto" help:"What a row is: lines, ndjson (a line that is not blank) or csv (a record; the header goes before each batch). Default: by the file name of --input, else lines."`
	Delimiter  string `placeholder:"CHARACTER" default:"," help:"Between the fields of csv (default a comma); tab for a tab."`
	Output     string `short:"o" placeholder:"FILE" help:"Write the output of CMD to this file instead of stdout. The file is emptied first."`
	DeadLetter string `placeholder:"WHERE" default:"table" help:"Where bad rows go: a FILE, one JSON document per line; queue:NAME, the dead-letter queue of that queue of a running Bezoar; or table (default), printed on stderr at the end."`
	State      string `placeholder:"FILE" help:"Save progress in this file, so that the same command resumes where it stopped."`

	Batch      int         `short:"n" placeholder:"N" help:"Rows in one run (default: a sixteenth of all rows, at least 10,000)."`
	BatchBytes config.Size `placeholder:"SIZE" help:"Approximate maximum bytes in one run (default 32MiB)."`
	MaxRow     config.Size `placeholder:"SIZE" help:"The longest row (default 16MiB)."`
	Parallel   int         `short:"p" placeholder:"N" default:"1" help:"Number of parallel runs, after the first one has worked (default 1)."`

	Timeout    time.Duration `placeholder:"TIME" help:"Time after which a run is stopped (default: never)."`
	Grace      time.Duration `placeholder:"TIME" help:"Time from SIGTERM to SIGKILL (default 5s)."`
	Memory     config.Size   `placeholder:"SIZE" help:"Memory limit of each run, such as 256MiB."`
	Attempts   int           `placeholder:"N" default:"5" help:"How often to try a run that fails temporarily (default 5)."`
	MaxLetters int           `placeholder:"N" default:"10000" help:"Stop when more rows are bad (default 10000)."`
	BlameRows  bool          `help:"Blame the rows even if everything fails; do not check whether the command is at fault."`

	Command []string `arg:"" name:"cmd" help:"The command that gets the rows on stdin, after --."`
}

// Help is shown below the flags.
func (siftCmd) Help() string {
	return "CMD gets batches of rows on stdin. A batch that fails is halved until the bad rows are found. Bad rows are set aside, " +
		"and all others are finished, with their output in the order of the rows. Rows of failed runs run again. CMD can name bad rows " +
		`itself, on descriptor 3: {"rows": [{"index": 0, "reason": "…"}]}. Its exit code 75 means try later, 65 means bad data.` + "\n\n" +
		"Exit codes: 0 all rows are done, 6 some were set aside, 1 the command is at fault and not the rows, 2 usage.\n\n" +
		"Example: bezoar sift -i orders.csv --dead-letter bad.ndjson --state orders.sift -- ./load-orders"
}

func (c *siftCmd) Run(s *session) error {
	cfg, err := c.config(s)
	if err != nil {
		return err
	}
	if err := cfg.Validate(); err != nil {
		return &exitError{code: exitUsage, err: errors.New(strings.ReplaceAll(err.Error(), "\n", "\n        "))}
	}
	if err := startable(c.Command[0]); err != nil {
		if first := c.Command[0]; c.Input == "" && isData(first) {
			return hinted(exitf(exitUsage, "%s is not a program", clean(first)), "-i names the file with the rows: bezoar sift -i %s -- CMD ARGS", clean(first))
		}
		return err
	}
	ctx, _, stop := s.heed(0)
	defer stop()
	defer s.guard(slog.New(slog.NewTextHandler(s.Stderr, nil)))()
	cfg.Letters = c.sink(ctx, s)
	show := newLongWork(s)
	cfg.Progress = siftProgress(show)
	began := s.now()
	report, err := rowfeed.Run(ctx, cfg)
	show.clear()
	c.report(s, report, s.now().Sub(began), err)
	return c.verdict(report, err)
}

// isData reports whether a name is that of a file which no one may run.
func isData(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 == 0
}

func (c *siftCmd) config(s *session) (rowfeed.Config, error) {
	delimiter := c.Delimiter
	if delimiter == "tab" {
		delimiter = "\t"
	}
	if len(delimiter) != 1 {
		return rowfeed.Config{}, exitf(exitUsage, "--delimiter is %q, want one character, or tab", c.Delimiter)
	}
	if c.DeadLetter == "" || c.DeadLetter == "-" || c.DeadLetter == "queue:" {
		return rowfeed.Config{}, exitf(exitUsage, "--dead-letter %s: want a file, queue:NAME or table", c.DeadLetter)
	}
	return rowfeed.Config{
		Input: c.Input, Stdin: s.Stdin,
		Rows:    rows.Config{Format: c.format(), Delimiter: delimiter[0], MaxRow: int64(c.MaxRow)},
		Command: c.Command, Secrets: []string{tokenVar},
		Timeout: c.Timeout, Grace: c.Grace, Memory: int64(c.Memory),
		Batch: c.Batch, BatchBytes: int64(c.BatchBytes), Parallel: c.Parallel,
		Attempts: c.Attempts, MaxLetters: c.MaxLetters, Blame: c.BlameRows,
		State: c.State, Output: s.Stdout, OutputPath: c.Output,
	}, nil
}

func (c *siftCmd) format() rows.Format {
	if c.Format != "auto" {
		return rows.Format(c.Format)
	}
	switch strings.ToLower(filepath.Ext(c.Input)) {
	case ".csv":
		return rows.CSV
	case ".ndjson", ".jsonl":
		return rows.NDJSON
	}
	return rows.Lines
}

// sink returns how to open the destination of letters; nil for the table.
func (c *siftCmd) sink(ctx context.Context, s *session) func(id string) (rowfeed.Sink, error) {
	name, isQueue := strings.CutPrefix(c.DeadLetter, "queue:")
	switch {
	case isQueue:
		return func(string) (rowfeed.Sink, error) { return c.queueSink(ctx, s, name) }
	case c.DeadLetter != "table":
		return rowfeed.File(c.DeadLetter)
	}
	return nil
}

// verdict returns the error with the exit code, and a hint.
func (c *siftCmd) verdict(r rowfeed.Report, err error) error {
	var (
		input   *rowfeed.InputError
		command *sift.CommandError
		outage  *sift.OutageError
		letters *sift.LettersError
	)
	again := "with --state FILE it could go on where it stopped"
	if c.State != "" {
		again = "nothing is lost: the same command goes on where it stopped"
	}
	if start, ok := errors.AsType[*sift.StartError](err); ok {
		if refused := cannotStart(c.Command[0], start.Error()); refused != nil {
			return refused
		}
	}
	switch {
	case err == nil && r.Total == 0:
		return nil
	case err == nil:
		return exitf(exitPartly, "%s of %s %s set aside", grouped(r.Total), grouped(r.Rows), plural(r.Rows, "row", "rows"))
	case errors.As(err, &input):
		return &exitError{code: exitUsage, err: err}
	case errors.As(err, &command) && r.Before+r.Done == 0 && r.Total == 0:
		return hinted(err, "nothing was set aside. --blame-rows blames the rows anyway")
	case errors.As(err, &command), errors.As(err, &outage):
		return hinted(err, "%s", again)
	case errors.As(err, &letters):
		return hinted(err, "--max-letters allows more; %s", again)
	case errors.Is(err, context.Canceled):
		return hinted(exitf(exitFailure, "interrupted"), "%s", again)
	}
	return fmt.Errorf("sift: %w", err)
}
