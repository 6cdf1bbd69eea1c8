package taskrun

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/process/rowfeed"
	"github.com/bezoar-dev/bezoar/internal/process/rows"
	"github.com/bezoar-dev/bezoar/sift"
)

// sift runs a command over the rows of a file. Its progress is kept for the next attempt, unless the file has changed by
// then.
func (r *Runner) sift(ctx context.Context, a *attempt, env *environment) flow.Ending {
	s := &a.spec
	ctx, cancel := here(ctx, s.Timeout)
	defer cancel()
	state, err := r.siftState(s)
	if err != nil {
		return notStarted(s.Sift.Command[0], err)
	}
	out, errs := env.masked(a.log), env.masked(a.log)
	cfg := rowfeed.Config{
		Input: below(s.Dir, s.Sift.Rows), Rows: rows.Config{Format: formatOf(s.Sift.Rows)}, Command: s.Sift.Command, Env: env.vars,
		Runner: r.child, Dir: s.Dir, Grace: s.Grace, Memory: s.Memory, Batch: s.Sift.Batch,
		State: state, Output: out, Stderr: errs, MaxLetters: flow.MaxRows, Log: r.cfg.Log,
	}
	report, err := rowfeed.Run(ctx, cfg)
	if _, wrong := errors.AsType[*rowfeed.InputError](err); wrong && report.Before == 0 && forget(state) {
		fmt.Fprintln(a.log, "the rows are not those of the last attempt: all of them run again")
		report, err = rowfeed.Run(ctx, cfg)
	}
	closeMask(out)
	closeMask(errs)
	if err != nil {
		return siftFailed(ctx, s, err)
	}
	forget(state)
	e := flow.Ending{}
	e.Output, err = json.Marshal(map[string]int{"rows": report.Rows, "bad": report.Total})
	if err != nil {
		return failed(bezoar.Bug, "output", err.Error())
	}
	size := 0
	for _, l := range report.Letters {
		row := flow.Row{Index: l.Row - 1, Reason: l.Reason, Body: l.Body()}
		if size += len(row.Body); size > maxRowBytes {
			return failed(bezoar.Invalid, "rows", fmt.Sprintf("its bad rows have more than %d bytes", maxRowBytes))
		}
		e.Rows = append(e.Rows, row)
	}
	return e
}

// siftFailed returns the end of a sift that cannot continue.
func siftFailed(ctx context.Context, s *flow.Spec, err error) flow.Ending {
	if e, ok := stopped(ctx, s.Timeout); ok {
		return e
	}
	if start, ok := errors.AsType[*sift.StartError](err); ok {
		return notStarted(s.Sift.Command[0], start)
	}
	e := flow.Ending{Class: bezoar.Bug, Reason: err.Error(), ExitCode: -1}
	if c, ok := errors.AsType[*sift.CommandError](err); ok {
		e.Class, e.Fingerprint, e.Group, e.Quality = c.Class, c.Failure.Fingerprint, c.Failure.Group, c.Failure.Quality
		return e
	}
	if o, ok := errors.AsType[*sift.OutageError](err); ok {
		e.Class, e.Fingerprint, e.Group, e.Quality = o.Class, o.Failure.Fingerprint, o.Failure.Group, o.Failure.Quality
		return e
	}
	return failed(bezoar.Invalid, "rows", err.Error())
}

// siftState returns the path of the progress file. It is the same for all attempts of one instance.
func (r *Runner) siftState(s *flow.Spec) (string, error) {
	dir := filepath.Join(r.cfg.Dir, "sift")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return filepath.Join(dir, nameOf(fmt.Sprintf("%s\n%s\n%d\n%q", s.Run, s.Task, s.Index, s.Sift.Command))), nil
}

// forget removes a state. It reports whether there was one.
func forget(state string) bool {
	found, _ := filepath.Glob(state + "*")
	for _, name := range found {
		_ = os.Remove(name)
	}
	return len(found) > 0
}

// formatOf returns the format of a file by its name.
func formatOf(name string) rows.Format {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".csv":
		return rows.CSV
	case ".ndjson", ".jsonl":
		return rows.NDJSON
	}
	return rows.Lines
}

// below resolves a path relative to a folder.
func below(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(cmp.Or(dir, "."), path)
}
