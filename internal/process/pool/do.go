package pool

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/process/child"
)

// Do gives a message to a child, once one is free, and waits for its answer. When
// the message costs the child its life, nothing of that child is left when Do
// returns. The end of ctx is a drain, as for [child.Runner.Do].
//
// Job.Env does not reach a child that runs already; Job.Message does. CPU and
// MaxRSS of the result are those of the child's whole life, and 0 while it lives.
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

// unbegun is the result of a message that no child has seen.
func unbegun(why error) child.Result {
	return child.Result{Class: bezoar.Interrupted, ExitCode: -1, Detail: "not begun: " + why.Error()}
}

// work gives a child a message and waits until it is answered, or the child is
// gone. begun is false when the child cannot have seen the message.
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

// wait waits for the answer, or for the child to be gone. It reports whether
// there is an answer that counts.
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
				return true // what came behind the answer is for its slot to see
			case fault != nil:
				l.proc.Kill(bezoar.Interrupted, fault.err.Error())
			}
		case <-stopping:
			// What it reaches within the grace still counts.
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

// reply makes a result of an answer. sent is nil when the whole message was
// written.
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
		next = over // it answered what it has not read: the rest is in the way
	}
	l.served++
	res := child.Result{Report: answer.report}
	switch {
	case answer.err != nil:
		res.Class, res.ReportErr = bezoar.Bug, answer.err
		res.Detail = "its answer is invalid: " + answer.err.Error()
	case answer.report != nil && answer.report.Class != "":
		_ = res.Class.UnmarshalText([]byte(answer.report.Class)) // it was validated
		if res.Class != bezoar.Done {
			res.Detail = "answered " + answer.report.Class
		}
	}
	l.proc.CatchUp()
	res.Stdout, res.Stderr = l.end(next)
	return res
}

// sentPatience is how long after an answer it may be noticed that its message was
// written: the child may be quicker than the goroutine that wrote.
const sentPatience = 20 * time.Millisecond

// soon reports whether c is closed within sentPatience.
func soon(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
	}
	late := time.NewTimer(sentPatience)
	defer late.Stop()
	select {
	case <-c:
		return true
	case <-late.C:
		return false
	}
}

// bury makes a result of a death.
func (p *Pool) bury(l *life) child.Result {
	res := l.result
	l.mu.Lock()
	fault, late := l.fault, l.late
	l.mu.Unlock()
	res.Report, res.ReportErr = nil, nil // descriptor 3 does not say about which message
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
		// It did start, and a good end without an answer is none.
		res.Class, res.Detail = bezoar.Bug, "ended without an answer: "+res.Detail
	}
	return res
}
