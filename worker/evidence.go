package worker

import (
	"errors"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/crash"
	"github.com/bezoar-dev/bezoar/internal/child"
	"github.com/bezoar-dev/bezoar/queue"
)

// apart is over which time failures with less to go by than a frame of the
// user's own must repeat themselves: a blip is no verdict.
const apart = 30 * time.Second

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
		r.diagnose(c, command)
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

// diagnose finds out what failed.
func (r *result) diagnose(c *child.Result, command string) {
	e := crash.Ending{Kind: crash.Exited, Code: c.ExitCode, Signal: c.Signal, Command: command, Detail: c.Detail}
	switch {
	case c.Class == bezoar.Timeout:
		e.Kind = crash.TimedOut
	case c.Class == bezoar.OOM:
		e.Kind = crash.OutOfMemory
	case c.Signal != "":
		e.Kind = crash.Signaled
	}
	said := c.Report != nil && c.Report.Class != ""
	if c.Report != nil {
		e.Failure = c.Report.Failure
	}
	well := e.Kind == crash.Exited && e.Code <= 0 // a report of a run that exited well, or of a pool's child that lives
	if well {
		e.Code = 1
	}
	output := make([]byte, 0, len(c.Stdout)+1+len(c.Stderr))
	output = append(append(append(output, c.Stdout...), '\n'), c.Stderr...)
	found := crash.OfRun(output, e)
	r.found(found)
	switch {
	case well && found.Quality == crash.Exit, c.ExitCode <= 0 && c.ReportErr != nil: // there is no such exit status; or what it said is wrong
		r.reason = c.Detail
	case e.Kind == crash.TimedOut && found.Quality == crash.Exit && c.Detail != "": // after how long
		r.reason = c.Detail
	}
	if said {
		r.class = c.Class
	}
}

// found takes in what a failure's analysis says. What it is not sure of, or what
// somebody saw, it does not change: only a bug may turn out to be a downstream's.
func (r *result) found(rep crash.Report) {
	r.failure, r.votes = rep.Fingerprint, crash.Votes(rep.Quality)
	if rep.Quality != crash.Own {
		r.span = apart
	}
	switch rep.Class {
	case bezoar.Transient, bezoar.Throttled, bezoar.Outage:
		if r.class == bezoar.Bug || r.class == bezoar.Transient {
			r.class = rep.Class
		}
	default:
	}
	if line := sentence(rep); line != "" {
		r.reason = line
	}
}

// sentence is a failure in one line, for people.
func sentence(rep crash.Report) string {
	var parts []string
	message := rep.Message
	if message == "" {
		message = rep.Reason
	}
	for _, part := range []string{rep.Type, message} {
		if part != "" && (len(parts) == 0 || parts[0] != part) {
			parts = append(parts, part)
		}
	}
	line := strings.Join(parts, ": ")
	if at := rep.Frame.String(); at != "" {
		line += " at " + at
	}
	return line
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
	r := result{class: bezoar.Crash, reason: p.Error(), detail: "panic", stderr: tail(p.stack, nil)}
	r.found(crash.FromPanic(p.value, p.stack))
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
