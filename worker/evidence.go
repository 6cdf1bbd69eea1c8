package worker

import (
	"errors"
	"strings"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/crash"
	"github.com/bezoar-dev/bezoar/internal/process/child"
	"github.com/bezoar-dev/bezoar/internal/process/evidence"
	"github.com/bezoar-dev/bezoar/queue"
)

// ofChild says how a run in a child process ended.
func ofChild(c *child.Result, command string) result {
	r := result{
		class: c.Class, detail: c.Detail, reason: c.Detail, weak: c.Unexplained,
		elapsed: c.Elapsed, cpu: c.CPU, rss: c.MaxRSS, unread: c.Unread && c.Report == nil,
	}
	switch c.Class {
	case bezoar.Done:
		r.reason, r.detail = "", ""
	case bezoar.Interrupted:
	case bezoar.SpawnFailed:
		if r.spawn = c.Err; r.spawn == nil {
			r.spawn = errors.New(c.Detail)
		}
	default:
		r.stderr = tail(c.Stderr, c.Stdout)
		r.failed(evidence.OfChild(c, command))
	}
	if p := c.Report; p != nil {
		for _, row := range p.Rows {
			r.rows = append(r.rows, Row{Index: row.Index, Reason: row.Reason})
		}
		r.after, r.downstream = p.RetryAfter, p.Downstream
		if p.Reason != "" {
			r.reason = p.Reason
		}
	}
	return r
}

// failed takes in what is known of a failure.
func (r *result) failed(f evidence.Failure) {
	r.class, r.failure, r.votes, r.span, r.reason = f.Class, f.Fingerprint, f.Votes, f.Span, f.Reason
}

// found takes in what a failure's analysis says.
func (r *result) found(rep crash.Report) {
	f := evidence.Failure{Class: r.class, Reason: r.reason}
	f.Add(rep)
	r.failed(f)
}

// tail is the end of what a process wrote, for people.
func tail(stderr, stdout []byte) string {
	text := stderr
	if len(strings.TrimSpace(string(text))) == 0 {
		text = stdout
	}
	return strings.ToValidUTF8(string(text[max(len(text)-queue.MaxStderr, 0):]), "\uFFFD")
}

// ofPanic says what a panic that was caught means: it would have killed the
// worker.
func ofPanic(p *panicError) result {
	r := result{detail: "panic", stderr: tail(p.stack, nil)}
	r.failed(evidence.OfPanic(p.value, p.stack))
	if r.reason == "" {
		r.reason = p.Error()
	}
	return r
}

// ofError says what a handler's error means.
func ofError(err error) result {
	r := result{class: bezoar.Bug}
	e, said := errors.AsType[*Error](err)
	if said {
		r.class, r.after, r.downstream, r.rows = e.Class, e.After, e.Downstream, e.Rows
	}
	if r.class == bezoar.SpawnFailed || r.class == bezoar.Interrupted { // those are for the worker to say
		r.class = bezoar.Transient
	}
	class := r.class
	switch {
	case said && e.Failure != "":
		r.found(crash.OfRun(nil, crash.Ending{Code: 1, Failure: e.Failure}))
	case said && e.Err != nil:
		r.found(crash.FromError(e.Err))
	default:
		r.found(crash.FromError(err))
	}
	if said {
		r.class = class
	}
	r.reason = err.Error()
	return r
}
