package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/sift"
)

// maxRows bounds the rows of one message that become letters: where more are
// bad it is the message. maxRuns bounds the runs that a message takes in one
// delivery, until its good rows are done.
const (
	maxRows = 1000
	maxRuns = 100
)

// rows deals with a run that blamed lines of its body. If it was done otherwise,
// they are all that is left to do; else the others run again without them.
func (d *delivery) rows() {
	r := &d.res
	lines := splitLines(d.m.Body)
	bad := r.rows[:0:0]
	seen := map[int]bool{}
	strange := false
	for _, row := range r.rows {
		strange = strange || row.Index < 0 || row.Index >= len(lines)
		if row.Index >= 0 && row.Index < len(lines) && !seen[row.Index] {
			seen[row.Index] = true
			bad = append(bad, row)
		}
	}
	r.rows = bad
	switch {
	case strange && r.class == bezoar.Done: // something is not done, and nobody knows what
		r.rows, r.class, r.reason = nil, bezoar.Bug, fmt.Sprintf("it blames rows of its body that are not among its %d", len(lines))
	case len(bad) == 0:
	case len(bad) > maxRows:
		r.rows, r.class, r.reason = nil, bezoar.Invalid, fmt.Sprintf("%d of %d rows are bad, more than %d", len(bad), len(lines), maxRows)
	case r.class == bezoar.Invalid:
		d.sift(lines)
	case r.class != bezoar.Done:
		r.rows = nil // it comes again, and says so again
	}
}

// sift runs the rows that nobody blames, until each is done or blamed.
func (d *delivery) sift(lines [][]byte) {
	first, runs, last := d.res, 0, d.res
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	var letters []Row
	_, err := sift.Run(ctx, sift.Config{
		Rows: len(lines), Batch: len(lines), Attempts: 1, MaxLetters: maxRows, Blame: true,
		Run: func(_ context.Context, b sift.Batch) sift.Outcome {
			if runs++; runs > maxRuns {
				cancel()
				return sift.Outcome{Class: bezoar.Interrupted}
			}
			last = first // has been run
			if runs > 1 {
				m := d.m
				m.Body = join(lines, b)
				last = d.attempt(m)
				first.elapsed, first.cpu = first.elapsed+last.elapsed, first.cpu+last.cpu
			}
			return outcomeOf(last)
		},
		Finish: func(sift.Batch, sift.Outcome) error { return nil },
		SetAside: func(l sift.Letter) error {
			letters = append(letters, Row{Index: l.Row, Reason: l.Failure.Reason})
			return nil
		},
	})
	elapsed, cpu := first.elapsed, first.cpu
	switch {
	case err == nil:
		d.res = result{class: bezoar.Done, rows: letters, reason: first.reason, failure: first.failure}
	case context.Cause(d.ctx) != nil:
		d.res = result{class: bezoar.Interrupted, reason: errInterrupted.Error()}
	case runs > maxRuns:
		d.res = first
		d.res.rows, d.res.reason = nil, fmt.Sprintf("%d runs did not find all bad rows", maxRuns)
	default:
		d.res = last // what ended it is how the message ends
		d.res.rows = nil
		if d.res.class == bezoar.Done {
			d.res.class, d.res.reason = bezoar.Bug, err.Error()
		}
		if _, more := errors.AsType[*sift.LettersError](err); more {
			d.res.class, d.res.reason = bezoar.Invalid, err.Error()
		}
	}
	d.res.elapsed, d.res.cpu = elapsed, cpu
}

func outcomeOf(r result) sift.Outcome {
	o := sift.Outcome{Class: r.class, RetryAfter: r.after, Elapsed: r.elapsed, Failure: sift.Failure{
		Reason: r.reason, Fingerprint: r.failure, Detail: r.detail, Stderr: r.stderr,
	}}
	for _, row := range r.rows {
		o.Rows = append(o.Rows, sift.Fault{Index: row.Index, Reason: row.Reason})
	}
	return o
}

// letters are those of the bad rows.
func (d *delivery) letters() []Letter {
	if len(d.res.rows) == 0 {
		return nil
	}
	lines := splitLines(d.m.Body)
	var all []Letter
	for _, row := range d.res.rows {
		o := queue.Outcome{Class: bezoar.Invalid, Failure: d.res.failure, Reason: row.Reason}
		if o.Reason == "" {
			o.Reason = fmt.Sprintf("row %d is bad", row.Index+1)
		}
		body := bytes.TrimRight(lines[row.Index], "\r\n")
		if len(body) == 0 {
			continue // a letter needs a body, and there is nothing in this one
		}
		all = append(all, Letter{Body: body, Outcome: o, Once: fmt.Sprintf("%.100s/%d", d.m.ID, row.Index), Part: true})
	}
	return all
}

// splitLines cuts a body into lines, each with its end.
func splitLines(body []byte) [][]byte {
	return slices.Collect(bytes.Lines(body))
}

func join(lines [][]byte, b sift.Batch) []byte {
	var out []byte
	for i := range b.Len() {
		out = append(out, lines[b.Row(i)]...)
	}
	return out
}
