package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/child"
	"github.com/bezoar-dev/bezoar/queue"
)

// ofChild says how a run in a child process ended.
func ofChild(c *child.Result) result {
	r := result{
		class: c.Class, detail: c.Detail, reason: c.Detail, half: c.Unexplained,
		elapsed: c.Elapsed, cpu: c.CPU, rss: c.MaxRSS, spawn: c.Err,
	}
	switch c.Class {
	case bezoar.Done:
	case bezoar.SpawnFailed:
		if r.spawn == nil {
			r.spawn = errors.New(c.Detail)
		}
	case bezoar.Interrupted:
	default:
		r.stderr = tail(c.Stderr, c.Stdout)
		r.diagnose(c)
	}
	if c.Report != nil {
		r.said(c.Report)
	}
	return r
}

// said takes in what the child reported. Its class is in the result already.
func (r *result) said(p *child.Report) {
	for _, row := range p.Rows {
		r.rows = append(r.rows, Row{Index: row.Index, Reason: row.Reason})
	}
	r.after, r.downstream = p.RetryAfter, p.Downstream
	if p.Reason != "" {
		r.reason = p.Reason
	}
	if p.Failure != "" && r.class != bezoar.Done {
		r.failure, r.votes, r.span = fingerprintOf("said", p.Failure), 2, 0
	}
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
	return result{class: bezoar.Crash, failure: fingerprintOf("panic", p.Error()), votes: 2, reason: p.Error(), detail: "panic", stderr: tail(p.stack, nil)}
}

// ofError says what a handler's error means.
func ofError(err error) result {
	r := result{class: bezoar.Bug, reason: err.Error(), failure: fingerprintOf("error", err.Error()), votes: 3, span: 30 * time.Second}
	var e *Error
	if errors.As(err, &e) {
		r.class, r.after, r.downstream, r.rows = e.Class, e.After, e.Downstream, e.Rows
		if e.Failure != "" {
			r.failure, r.votes, r.span = fingerprintOf("said", e.Failure), 2, 0
		}
		if r.class == bezoar.SpawnFailed || r.class == bezoar.Interrupted { // for the worker to say
			r.class = bezoar.Transient
		}
	}
	return r
}

func fingerprintOf(kind, text string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + text))
	return hex.EncodeToString(sum[:16])
}

func (r *result) diagnose(c *child.Result) {
	r.failure, r.votes = fingerprintOf(c.Class.String(), c.Detail+fmt.Sprint(lastLine(c.Stderr))), 2
	if l := lastLine(c.Stderr); l != "" {
		r.reason = l
	}
}

func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}
