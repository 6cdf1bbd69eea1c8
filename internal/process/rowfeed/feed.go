package rowfeed

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/crash"
	"github.com/bezoar-dev/bezoar/internal/each"
	"github.com/bezoar-dev/bezoar/internal/process/child"
	"github.com/bezoar-dev/bezoar/sift"
)

// feeder runs batches.
type feeder struct {
	cfg    Config
	in     *input
	runner *child.Runner
	broken context.CancelCauseFunc // ends the run when the input cannot be read
}

// run runs the command with the rows of b on its standard input.
func (f *feeder) run(ctx context.Context, b sift.Batch) sift.Outcome {
	body, err := f.body(b)
	if err != nil {
		f.broken(err)
		return sift.Outcome{Class: bezoar.Interrupted}
	}
	out := &spill{most: f.cfg.MaxOutput}
	first := 0
	if b.Len() > 0 {
		first = b.Row(0) + 1
	}
	res := f.runner.Do(ctx, child.Job{
		Name:    "rows " + b.String(),
		Command: f.cfg.Command, Dir: f.cfg.Dir, Timeout: f.cfg.Timeout, Grace: f.cfg.Grace, Memory: f.cfg.Memory,
		Env:    append(slices.Clone(f.cfg.Env), fmt.Sprintf("BEZOAR_SIFT_FIRST=%d", first), fmt.Sprintf("BEZOAR_SIFT_ROWS=%d", b.Len())),
		Stdin:  body,
		Stdout: out, Stderr: f.cfg.Stderr,
	})
	if res.ReportErr != nil {
		f.cfg.Log.Warn("cannot read the command's report on descriptor 3", "rows", b.String(), "error", res.ReportErr)
	}
	if ctx.Err() != nil { // it was told to stop: its report does not count
		_ = out.Close()
		return sift.Outcome{Class: bezoar.Interrupted}
	}
	o := f.outcome(res, b.Len())
	if out.err != nil && !failed(o) {
		o.Class, o.Failure = bezoar.Bug, sift.Failure{Type: "output", Reason: out.err.Error(), Fingerprint: "output"}
	}
	o.Output = out
	return o
}

func failed(o sift.Outcome) bool { return o.Class != bezoar.Done }

func (f *feeder) body(b sift.Batch) ([]byte, error) {
	if err := f.in.unchanged(); err != nil {
		return nil, &InputError{err}
	}
	spans := each.Of(b.Spans(), func(s sift.Span) [2]int { return [2]int{s.From, s.To} })
	body, err := f.in.body(spans)
	if err != nil {
		return nil, &InputError{err}
	}
	return body, nil
}

// outcome converts the end of a run into the result of its n rows.
func (f *feeder) outcome(res child.Result, n int) sift.Outcome {
	o := sift.Outcome{Class: res.Class, Elapsed: res.Elapsed}
	if r := res.Report; r != nil {
		o.RetryAfter = r.RetryAfter
		for _, row := range r.Rows {
			if row.Index >= n && res.Class == bezoar.Done { // it does not say which row is bad
				res.Class, res.Report, res.ReportErr = bezoar.Bug, nil, fmt.Errorf("report: row %d does not exist: there are %d rows, counted from 0", row.Index, n)
				o.Class, o.Rows = res.Class, nil
				break
			}
			o.Rows = append(o.Rows, sift.Fault{Index: row.Index, Reason: row.Reason})
		}
	}
	switch {
	case len(o.Rows) > 0 && res.ExitCode == 0 && res.Signal == "":
		o.Class = bezoar.Done // for the other rows
		return o
	case o.Class == bezoar.Done:
		return o
	}
	o.Class, o.Failure = f.explain(res)
	return o
}

// maxStderr is the most bytes of stderr that a letter keeps.
const maxStderr = 4 << 10

// explain returns the class and the evidence of a failed run, from its end and its output.
func (f *feeder) explain(res child.Result) (bezoar.Class, sift.Failure) {
	e := crash.Ending{Kind: crash.Exited, Code: res.ExitCode, Signal: res.Signal, Command: f.cfg.Command[0]}
	switch {
	case res.Class == bezoar.OOM:
		e.Kind = crash.OutOfMemory
	case res.Class == bezoar.Timeout:
		e.Kind = crash.TimedOut
	case res.Class == bezoar.Interrupted:
		e.Kind = crash.Canceled
	case res.Class == bezoar.SpawnFailed:
		e.Kind, e.Detail = crash.NotStarted, res.Detail
	case res.Signal != "":
		e.Kind = crash.Signaled
	}
	class := res.Class
	if r := res.Report; r != nil {
		e.Failure = r.Failure
	}
	if res.ReportErr != nil && res.ExitCode == 0 {
		e.Code, e.Failure = 1, res.ReportErr.Error() // an exit code of 0 is not a failure, but the invalid report is
	}
	words := res.Stderr
	if len(bytes.TrimSpace(words)) == 0 {
		words = res.Stdout
	}
	c := crash.OfRun(words, e)
	if class == bezoar.Bug && (res.Report == nil || res.Report.Class == "") {
		class = c.Class // its output may show an outage
	}
	reason := c.Message // as printed: the normalized form does not name the missing file
	reason = cmp.Or(reason, c.Reason)
	out := sift.Failure{
		Type: c.Type, Frame: sift.Frame{File: c.Frame.File, Line: c.Frame.Line, Function: c.Frame.Function}, Reason: reason,
		Fingerprint: c.Fingerprint, Group: c.Group, Quality: string(c.Quality), Detail: res.Detail, Stderr: tail(res.Stderr),
	}
	if res.Err != nil {
		out.Type, out.Reason = "", res.Err.Error()
	}
	if r := res.Report; r != nil && r.Reason != "" {
		out.Reason = r.Reason
	}
	return class, out
}

// tail returns the end of a run's output in the form a letter keeps it.
func tail(b []byte) string {
	if n := len(b) - maxStderr; n > 0 {
		b = b[n:]
		if i := bytes.IndexByte(b, '\n'); i >= 0 && i < len(b)-1 {
			b = b[i+1:]
		}
	}
	return strings.ToValidUTF8(string(b), "�")
}
