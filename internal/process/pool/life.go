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

// inline is the longest line that is written without a goroutine: on every system it fits into the empty pipe of a child.
const inline = 4 << 10

// keepLine is the most memory in bytes that a child keeps for the lines of later messages.
const keepLine = 64 << 10

// EnvPool is the variable that tells a program that it runs in a pool. Its value is the version of the protocol.
const EnvPool = "BEZOAR_POOL"

// process is implemented by [child.Process].
type process interface {
	Kill(class bezoar.Class, why string)
	CatchUp()
	Wait() child.Result
}

// phase is a child's state.
type phase uint8

const (
	starting phase = iota // it has not said hello yet
	idle
	busy // it has a message
	over // it gets no more messages
)

// life is one child from its start to its end.
type life struct {
	name  string
	pid   int
	proc  process
	stdin io.WriteCloser
	err   *shared
	usage *usage // nil if it cannot be measured

	wake chan struct{} // receives when there is news of the child
	gone chan struct{} // closed when no process of it is left and all its output was read
	back chan struct{} // receives when its user gives it back

	result child.Result // valid once gone is closed

	// The fields below belong to the child's user: its slot, or the call that works with it.
	line   []byte // kept to reuse its memory
	served int    // messages
	base   int64  // bytes of memory at its hello
	looked time.Time
	timer  *time.Timer // for the deadline
	meter  *time.Timer // for the processor time

	mu       sync.Mutex // guards the fields below
	news     bool       // read, but not reported on wake yet
	phase    phase
	out      tail
	id       string        // of its current message
	deadline time.Time     // of the current message; zero: none
	limit    time.Duration // the timeout behind deadline
	mayUse   time.Duration // total processor time at which it is stopped; 0: no limit
	allowed  time.Duration // processor time for this message
	answered bool
	answer   said
	fault    *fault // it broke the protocol
	late     bool   // it was stopped for its deadline or its processor time
}

// fault describes how a child broke the protocol, and the class for its current message.
type fault struct {
	class bezoar.Class
	err   error
}

// startLife starts a child, reads its output and greets it.
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
	_, _ = io.WriteString(l.stdin, hello) // if it is dead already, that is noticed elsewhere
	return l, nil
}

// hear handles a line of the child's stdout.
func (l *life) hear(s said, raw []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch s.kind {
	case output:
		if len(bytes.TrimSpace(raw)) > 0 { // an empty line may precede an answer
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

func (l *life) heard() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.news {
		return
	}
	l.news = false
	select {
	case l.wake <- struct{}{}:
	default: // a signal is pending already
	}
}

// take judges an answer. After a child has broken the protocol, its later answers are ignored.
func (l *life) take(s said) {
	switch {
	case l.fault != nil || l.phase == over:
	case l.phase == starting:
		l.fault = &fault{bezoar.SpawnFailed, fmt.Errorf("instead of a hello: %w", s.why())}
	case l.phase == idle || l.answered:
		l.fault = &fault{bezoar.Transient, fmt.Errorf("an unexpected answer: %w", s.why())}
	case s.kind == garbled && s.id == "":
		// The child answered this message, and the message caused the invalid output.
		l.fault = &fault{bezoar.Bug, fmt.Errorf("a garbled answer: %w", s.err)}
	case s.id != l.id:
		// An answer to another message says nothing about this one.
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

// looks returns the child's state, and its fault if it has one.
func (l *life) looks() (phase, *fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.phase, l.fault
}

// begin records a message for the child. It refuses if the child has broken the protocol.
func (l *life) begin(id string, j *child.Job, deadline time.Time, limit time.Duration) bool {
	l.proc.CatchUp() // earlier stderr does not belong to this message
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

// end ends the message, answered or not, and returns the child's output for it.
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

var errUndelivered = errors.New("the child died before it could read the message")

// send writes the line of a message. A goroutine writes a long one; it ends at the latest with the child. sent is closed
// after the write.
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
		_, _ = l.stdin.Write(line) // an error means that the child died, which is noticed elsewhere
	}()
	return done, nil
}

// overdue stops a child that exceeded the message's deadline.
func (l *life) overdue() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase != busy || l.answered || l.deadline.IsZero() || time.Now().Before(l.deadline) {
		return // the timer was for the message before, or the answer came first
	}
	l.late = true
	l.proc.Kill(bezoar.Timeout, "stopped after "+l.limit.String())
}

// allow gives the child more processor time for its next message. A limit of the process itself could not be raised again.
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

// lookAgain returns when to check a process that has left of its processor time.
func lookAgain(left time.Duration) time.Duration {
	return max(left/time.Duration(runtime.NumCPU()), 20*time.Millisecond)
}

// overused stops a child that exceeded its processor time for the message.
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

// stop ends the child: first by closing its stdin, for at most polite, then by signals. With polite 0 it sends signals at
// once.
func (l *life) stop(polite time.Duration) {
	l.mu.Lock()
	l.phase = over
	l.mu.Unlock()
	_ = l.stdin.Close()
	if polite > 0 {
		select {
		case <-l.gone:
		case <-time.After(polite):
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
