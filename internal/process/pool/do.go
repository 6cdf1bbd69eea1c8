package pool

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/process/child"
)

// Do gives a message to a free child, waits for one if necessary, and waits for the answer. If the child dies, Do returns
// when no process of it is left. The end of ctx is a drain, as for [child.Runner.Do].
//
// Job.Env does not reach a running child; Job.Message does. CPU and MaxRSS of the result cover the child's whole life, and
// are 0 while it lives.
func (p *Pool) Do(ctx context.Context, j child.Job) child.Result {
	if err := checkFits(&j); err != nil {
		return child.Result{Class: bezoar.Invalid, ExitCode: -1, Detail: err.Error()}
	}
	id := j.Message.ID
	if id == "" {
		id = strconv.FormatUint(p.serial.Add(1), 10)
	}
	for {
		if ctx.Err() != nil {
			return unbegun(ctx.Err())
		}
		select {
		case l := <-p.idle:
			res, begun := p.work(ctx, l, id, &j)
			l.back <- struct{}{}
			if begun {
				return res
			}
		case <-ctx.Done():
		case <-p.closed:
			if p.failed != nil {
				return child.Result{Class: bezoar.SpawnFailed, ExitCode: -1, Detail: p.failed.Error(), Err: p.failed}
			}
			return unbegun(child.ErrStopped)
		}
	}
}

// unbegun returns the result of a message that no child has received.
func unbegun(why error) child.Result {
	return child.Result{Class: bezoar.Interrupted, ExitCode: -1, Detail: "not started: " + why.Error()}
}

// work gives a child a message and waits for the answer or for the child's end. begun is false if the child cannot have
// read the message.
func (p *Pool) work(ctx context.Context, l *life, id string, j *child.Job) (res child.Result, begun bool) {
	limit := p.cfg.Child.Timeout
	if j.Timeout != 0 {
		limit = max(0, j.Timeout)
	}
	began := time.Now()
	var deadline time.Time
	if limit > 0 {
		deadline = began.Add(limit)
	}
	if !l.begin(id, j, deadline, limit) {
		return res, false
	}
	if p.cfg.Child.CPU > 0 && l.usage != nil {
		if err := l.allow(p.cfg.Child.CPU); err != nil {
			p.cfg.Child.Log.Warn("a message runs without its limit", "message", id, "err", err)
		}
	}
	if j.Started != nil {
		j.Started(l.pid)
	}
	if limit > 0 {
		l.timer.Reset(limit)
	}
	l.line = appendMessage(l.line[:0], id, j, deadline)
	sent, err := l.send()
	if err != nil {
		l.timer.Stop()
		l.end(over)
		return res, false
	}
	if l.wait(ctx) {
		res = l.reply(sent)
	} else {
		res = p.bury(l)
	}
	res.Elapsed = time.Since(began)
	return res, true
}

// wait waits for the answer or for the child's end. It reports whether there is a valid answer.
func (l *life) wait(ctx context.Context) bool {
	stopping, stopped := ctx.Done(), false
	for {
		select {
		case <-l.wake:
			l.mu.Lock()
			answered, fault := l.answered, l.fault
			stopped = stopped || l.late
			l.mu.Unlock()
			switch {
			case answered && !stopped:
				l.timer.Stop()
				return true // the slot handles output after the answer
			case fault != nil:
				l.proc.Kill(bezoar.Interrupted, fault.err.Error())
			}
		case <-stopping:
			// An answer within the grace still counts.
			stopping, stopped = nil, true
			l.proc.Kill(bezoar.Interrupted, "the worker stops")
		case <-l.gone:
			l.timer.Stop()
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.answered && !l.late
		}
	}
}

// reply converts an answer into a result. sent is nil if the whole message was written.
func (l *life) reply(sent <-chan struct{}) child.Result {
	l.mu.Lock()
	answer := l.answer
	l.mu.Unlock()
	next := idle
	select {
	case <-l.gone:
		next = over
	default:
	}
	if sent != nil && !soon(sent) {
		next = over // it answered without reading everything: the rest would precede the next message
	}
	l.served++
	res := child.Result{Report: answer.report}
	switch {
	case answer.err != nil:
		res.Class, res.ReportErr = bezoar.Bug, answer.err
		res.Detail = "its answer is invalid: " + answer.err.Error()
	case answer.report != nil && answer.report.Class != "":
		_ = res.Class.UnmarshalText([]byte(answer.report.Class)) // the report was validated
		if res.Class != bezoar.Done {
			res.Detail = "answered " + answer.report.Class
		}
	}
	l.proc.CatchUp()
	res.Stdout, res.Stderr = l.end(next)
	return res
}

// sentPatience is how long to wait after an answer for the end of the write: the child may be faster than the writing
// goroutine.
const sentPatience = 20 * time.Millisecond

// soon reports whether c is closed within sentPatience.
func soon(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
	}
	select {
	case <-c:
		return true
	case <-time.After(sentPatience):
		return false
	}
}

// bury converts a child's death into a result.
func (p *Pool) bury(l *life) child.Result {
	res := l.result
	l.mu.Lock()
	fault, late := l.fault, l.late
	l.mu.Unlock()
	res.Report, res.ReportErr = nil, nil // descriptor 3 does not say which message it means
	l.served++
	res.Stdout, res.Stderr = l.end(over)
	switch {
	case late:
		res.Class = bezoar.Timeout
	case fault != nil && res.Class != bezoar.Crash && res.Class != bezoar.OOM:
		res.Class = fault.class
		res.Detail = fmt.Sprintf("%v: %v", errProtocol, fault.err)
		res.ReportErr = fault.err
	case res.Class == bezoar.Done || res.Class == bezoar.SpawnFailed:
		// The child did start, and exit code 0 without an answer is not success.
		res.Class, res.Detail = bezoar.Bug, "ended without an answer: "+res.Detail
	}
	return res
}
