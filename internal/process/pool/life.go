package pool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/process/child"
)

// inline is how long a line may be that is written without a goroutine: it fits
// into the pipe of a child that has read all before it, whatever the system.
const inline = 4 << 10

// keepLine is how much memory a child keeps for the lines of messages to come.
const keepLine = 64 << 10

// EnvPool is what tells a program that it is in a pool, and the version of the
// protocol that is spoken there.
const EnvPool = "BEZOAR_POOL"

// process is a [child.Process].
type process interface {
	Kill(class bezoar.Class, why string)
	CatchUp()
	Wait() child.Result
}

// phase is what a child is at.
type phase uint8

const (
	starting phase = iota // it has not said hello
	idle
	busy // it has a message
	over // it gets no more messages
)

// life is one child, from its start to its end.
type life struct {
	name  string
	pid   int
	proc  process
	stdin io.WriteCloser
	err   *shared
	usage *usage // nil when it cannot be looked at

	wake chan struct{} // has one when what the child said wants to be looked at
	gone chan struct{} // closed when nothing is left of it, and all of its output was heard
	back chan struct{} // has one when who had it gives it back

	result child.Result // how it ended; valid once gone is closed

	// Of who has it: its slot, or the call that works with it.
	line   []byte // kept for its memory
	served int    // messages
	base   int64  // bytes of memory at its hello
	looked time.Time
	timer  *time.Timer // for the deadline
	meter  *time.Timer // for the processor time

	mu       sync.Mutex // guards what follows
	news     bool       // heard and not told yet
	phase    phase
	out      tail
	id       string        // of the message that it has
	deadline time.Time     // of that message; zero: none
	limit    time.Duration // that gave it
	mayUse   time.Duration // its processor time, until which it may go on; 0: any
	allowed  time.Duration // of it for this message
	answered bool
	answer   said
	fault    *fault // it is out of step
	late     bool   // it was stopped for its deadline, or its processor time
}

// fault is how a child broke the protocol, and what that means to the message
// that it held.
type fault struct {
	class bezoar.Class
	err   error
}

// startLife starts a child, listens to it and greets it.
func startLife(ctx context.Context, r *child.Runner, name string, keep int) (*life, error) {
	l := &life{
		name: name, err: new(shared),
		wake: make(chan struct{}, 1), gone: make(chan struct{}), back: make(chan struct{}, 1),
	}
	l.out.kept.Max, l.err.kept.Max = keep, keep
	p, err := r.Start(ctx, child.Job{Name: name, Env: []string{EnvPool + "=1"}, Stderr: l.err, Timeout: -1})
	if err != nil {
		return nil, err
	}
	l.pid, l.proc, l.stdin = p.Pid, p, p.Stdin
	l.timer = time.AfterFunc(time.Hour, l.overdue)
	l.timer.Stop()
	l.meter = time.AfterFunc(time.Hour, l.overused)
	l.meter.Stop()
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		defer p.Stdout.Close()
		hearLines(p.Stdout, l.hear, l.heard)
	}()
	go func() {
		defer close(l.gone)
		l.result = p.Wait()
		<-heard
	}()
	_, _ = io.WriteString(l.stdin, hello) // if it is dead already, that is what is seen
	return l, nil
}

// hear takes a line of the child's stdout.
func (l *life) hear(s said, raw []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch s.kind {
	case output:
		if len(bytes.TrimSpace(raw)) > 0 { // an empty line may stand before an answer
			_, _ = l.out.Write(raw)
		}
		return
	case greeted:
		if l.phase != starting {
			return
		}
		l.phase = idle
	case answered, garbled:
		l.take(s)
	}
	l.news = true
}

// heard has somebody look at what was heard.
func (l *life) heard() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.news {
		return
	}
	l.news = false
	select {
	case l.wake <- struct{}{}:
	default: // it will be looked at
	}
}

// take judges an answer. Who broke the protocol is out of step, and nothing that
// it says can be believed any more.
func (l *life) take(s said) {
	switch {
	case l.fault != nil || l.phase == over:
	case l.phase == starting:
		l.fault = &fault{bezoar.SpawnFailed, fmt.Errorf("instead of a hello: %w", s.why())}
	case l.phase == idle || l.answered:
		l.fault = &fault{bezoar.Transient, fmt.Errorf("an unexpected answer: %w", s.why())}
	case s.kind == garbled && s.id == "":
		// It is the answer to this message, made by what this message made it do.
		l.fault = &fault{bezoar.Bug, fmt.Errorf("a garbled answer: %w", s.err)}
	case s.id != l.id:
		// Somebody else's answer says nothing about this message.
		l.fault = &fault{bezoar.Transient, fmt.Errorf("an answer to %.80q, not to this message", s.id)}
	default:
		l.answered, l.answer = true, s
	}
}

func (s said) why() error {
	if s.err != nil {
		return s.err
	}
	return fmt.Errorf("to %.80q", s.id)
}

// looks returns what the child is at, and what is wrong with it.
func (l *life) looks() (phase, *fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.phase, l.fault
}

// begin gives the child a message, as far as it is concerned. It refuses when
// the child is out of step.
func (l *life) begin(id string, j *child.Job, deadline time.Time, limit time.Duration) bool {
	l.proc.CatchUp() // what is there was not written for this message
	l.err.begin(j.Stderr)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase != idle || l.fault != nil {
		return false
	}
	l.phase, l.id, l.deadline, l.limit, l.answered = busy, id, deadline, limit, false
	l.out.begin(j.Stdout)
	return true
}

// end takes the message back, answered or not, with what the child has written
// for it.
func (l *life) end(next phase) (out, err []byte) {
	l.mu.Lock()
	l.phase, l.answer = next, said{}
	out = l.out.end()
	l.mu.Unlock()
	if cap(l.line) > keepLine {
		l.line = nil
	}
	return out, l.err.end()
}

var errUndelivered = errors.New("the child was dead before it could read the message")

// send writes the line of a message. A long one is written by a goroutine, which
// a child's end ends; sent is closed when it was written.
func (l *life) send() (sent <-chan struct{}, err error) {
	if len(l.line) <= inline {
		if n, err := l.stdin.Write(l.line); err != nil && n == 0 {
			return nil, errUndelivered
		}
		return nil, nil
	}
	done := make(chan struct{})
	line := l.line
	go func() {
		defer close(done)
		_, _ = l.stdin.Write(line) // an error is the child's death, which is seen elsewhere
	}()
	return done, nil
}

// overdue stops a child that has had its message for too long.
func (l *life) overdue() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase != busy || l.answered || l.deadline.IsZero() || time.Now().Before(l.deadline) {
		return // the timer is from the message before, or the answer was faster
	}
	l.late = true
	l.proc.Kill(bezoar.Timeout, "stopped after "+l.limit.String())
}

// allow lets the child use so much processor time for the message that it is to
// get. A limit of the process itself could not be raised again for the next one.
func (l *life) allow(more time.Duration) error {
	used, err := l.usage.processor()
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mayUse, l.allowed = used+more, more
	l.meter.Reset(lookAgain(more))
	return nil
}

// lookAgain is when a process that may use so much more can have used it, give or
// take a bit.
func lookAgain(left time.Duration) time.Duration {
	return max(left/time.Duration(runtime.NumCPU()), 20*time.Millisecond)
}

// overused looks whether a child has used what it may for its message.
func (l *life) overused() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase != busy || l.answered {
		return
	}
	used, err := l.usage.processor()
	if err != nil {
		return // it is dead
	}
	if used < l.mayUse {
		l.meter.Reset(lookAgain(l.mayUse - used))
		return
	}
	l.late = true
	l.proc.Kill(bezoar.Timeout, fmt.Sprintf("stopped after %v of processor time", l.allowed))
}

// stop ends the child: by closing its stdin, by signals when it does not heed
// that, and by signals alone when it is not asked politely.
func (l *life) stop(polite time.Duration) {
	l.mu.Lock()
	l.phase = over
	l.mu.Unlock()
	_ = l.stdin.Close()
	if polite > 0 {
		patience := time.NewTimer(polite)
		defer patience.Stop()
		select {
		case <-l.gone:
		case <-patience.C:
		}
	}
	l.proc.Kill(bezoar.Interrupted, "its time was over")
	<-l.gone
	l.timer.Stop()
	l.meter.Stop()
	if l.usage != nil {
		l.usage.close()
	}
}
