package sieve

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/child"
	"github.com/bezoar-dev/bezoar/sift"
)

// feeder runs batches.
type feeder struct {
	cfg    Config
	in     *input
	runner *child.Runner
	broken context.CancelCauseFunc // ends it all when the input cannot be read
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
		Name:   "rows " + b.String(),
		Env:    []string{fmt.Sprintf("BEZOAR_SIFT_FIRST=%d", first), fmt.Sprintf("BEZOAR_SIFT_ROWS=%d", b.Len())},
		Stdin:  body,
		Stdout: out,
	})
	if res.ReportErr != nil {
		f.cfg.Log.Warn("what the command said on descriptor 3 is not understood", "rows", b.String(), "error", res.ReportErr)
	}
	if ctx.Err() != nil { // whatever it says now: it was told to stop
		_ = out.Close()
		return sift.Outcome{Class: bezoar.Interrupted}
	}
	o := f.outcome(res)
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
	spans := make([][2]int, 0, len(b.Spans()))
	for _, s := range b.Spans() {
		spans = append(spans, [2]int{s.From, s.To})
	}
	body, err := f.in.body(spans)
	if err != nil {
		return nil, &InputError{err}
	}
	return body, nil
}

// outcome says what a run's end means for its rows.
func (f *feeder) outcome(res child.Result) sift.Outcome {
	o := sift.Outcome{Class: res.Class, Elapsed: res.Elapsed}
	if r := res.Report; r != nil {
		o.RetryAfter = r.RetryAfter
		for _, row := range r.Rows {
			o.Rows = append(o.Rows, sift.Fault{Index: row.Index, Reason: row.Reason})
		}
	}
	switch {
	case len(o.Rows) > 0 && res.ExitCode == 0 && res.Signal == "":
		o.Class = bezoar.Done // but for those rows
		return o
	case o.Class == bezoar.Done:
		return o
	}
	o.Class, o.Failure = f.cfg.Explain(res)
	if r := res.Report; r != nil {
		if r.Failure != "" {
			o.Failure.Type, o.Failure.Fingerprint, o.Failure.Group, o.Failure.Quality = r.Failure, r.Failure, r.Failure, "A"
		}
		if r.Reason != "" {
			o.Failure.Reason = r.Reason
		}
	}
	return o
}

// maxStderr is how much of it a letter keeps.
const maxStderr = 4 << 10

// Explain says of a failed run what its exit code or signal says, and the last
// line that it wrote. It does not understand what it reads.
func Explain(res child.Result) (bezoar.Class, sift.Failure) {
	f := sift.Failure{Type: res.Detail, Detail: res.Detail, Quality: "D", Stderr: Tail(res.Stderr)}
	if res.Err != nil {
		f.Type, f.Reason = "", res.Err.Error()
	}
	lines := strings.Split(strings.TrimSpace(f.Stderr), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		f.Reason, f.Quality = last, "C"
	}
	return res.Class, f
}

// Tail is the end of what a run wrote, as a letter keeps it.
func Tail(b []byte) string {
	if n := len(b) - maxStderr; n > 0 {
		b = b[n:]
		if i := bytes.IndexByte(b, '\n'); i >= 0 && i < len(b)-1 {
			b = b[i+1:]
		}
	}
	return strings.ToValidUTF8(string(b), "�")
}
