package pool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/process/child"
)

// StartError means that the command does not start as a pool's child. The pool has stopped; no message is the cause.
type StartError struct {
	Command string
	Err     error
	Stderr  []byte // the end of its stderr
}

func (e *StartError) Error() string {
	text := fmt.Sprintf("start %s: %v", e.Command, e.Err)
	if said := bytes.TrimSpace(e.Stderr); len(said) > 0 {
		text += fmt.Sprintf(": %.200s", said[bytes.LastIndexByte(said, '\n')+1:])
	}
	return text
}

func (e *StartError) Unwrap() error { return e.Err }

// tend runs one child after another, until ctx ends or none can be started.
func (p *Pool) tend(ctx context.Context, slot int) error {
	name := "pool-" + strconv.Itoa(slot+1)
	recycle := p.cfg.Recycle - slot*p.cfg.Recycle/(2*p.cfg.Size) // first children get different lengths, so that they do not all end together
	for idly := 0; ctx.Err() == nil; {
		l, err := p.start(ctx, name)
		if err != nil {
			return err
		}
		if l == nil { // it failed this time
			continue
		}
		polite := p.serve(ctx, l, recycle)
		recycle = p.cfg.Recycle
		if l.served > 0 {
			idly = 0
		}
		p.finish(l, polite)
		if !polite && l.served == 0 {
			p.pause(ctx, idly)
			idly++
		}
	}
	return nil
}

// start starts a child and waits for its hello. It returns nil after a temporary failure, once it has waited for the next
// try.
func (p *Pool) start(ctx context.Context, name string) (*life, error) {
	l, err := p.tryStart(ctx, name)
	if err == nil {
		if l != nil {
			p.failures.Store(0)
		}
		return l, nil
	}
	n := int(p.failures.Add(1))
	p.cfg.Child.Log.Warn("cannot start a child", "child", name, "failures", n, "err", err)
	if n >= p.cfg.Starts || permanent(err) {
		return nil, err
	}
	p.pause(ctx, n-1)
	return nil, nil
}

// tryStart returns neither a child nor an error if ctx ended meanwhile.
func (p *Pool) tryStart(ctx context.Context, name string) (*life, error) {
	command := p.cfg.Child.Command[0]
	// The end of ctx stops children gently, so they get a context without that end.
	l, err := startLife(context.WithoutCancel(ctx), p.runner, name, p.cfg.Child.Tail)
	if err != nil {
		return nil, &StartError{Command: command, Err: err}
	}
	patience := time.NewTimer(p.cfg.Start)
	defer patience.Stop()
	for err == nil {
		select {
		case <-l.wake:
			switch phase, fault := l.looks(); {
			case fault != nil:
				err = fmt.Errorf("%w: %w", errProtocol, fault.err)
			case phase == idle:
				l.settle()
				return l, nil
			}
		case <-l.gone:
			err = fmt.Errorf("it ended before it said hello: %s", l.result.Detail)
			if l.result.Class == bezoar.SpawnFailed {
				err = fmt.Errorf("%w: %w", errNoCommand, err)
			}
		case <-patience.C:
			err = fmt.Errorf("no hello within %v", p.cfg.Start)
		case <-ctx.Done():
			l.stop(0)
			return nil, nil
		}
	}
	l.stop(0)
	return nil, &StartError{Command: command, Err: err, Stderr: l.err.end()}
}

// settle measures a child that has just said hello.
func (l *life) settle() {
	u, err := openUsage(l.pid)
	if err != nil {
		return // it is dead or cannot be measured: its growth is unknown
	}
	l.usage, l.base = u, u.memory()
}

var errNoCommand = errors.New("there is no such command")

// permanent reports whether later starts will fail the same way until somebody repairs the cause.
func permanent(err error) bool {
	return slices.ContainsFunc([]error{errNoCommand, errProtocol, exec.ErrNotFound, fs.ErrNotExist, fs.ErrPermission, syscall.ENOEXEC, syscall.ENOTDIR, child.ErrStopped}, func(e error) bool { return errors.Is(err, e) })
}

// serve offers a child until it must be replaced. It reports whether the child may be ended gently.
func (p *Pool) serve(ctx context.Context, l *life, recycle int) (polite bool) {
	for {
		select {
		case p.idle <- l:
			<-l.back
			if phase, fault := l.looks(); phase != idle || fault != nil {
				return false
			}
			if why := p.spent(l, recycle); why != "" {
				p.cfg.Child.Log.Debug("a child is replaced", "child", l.name, "why", why, "messages", l.served)
				return true
			}
		case <-l.wake:
			if _, fault := l.looks(); fault != nil {
				p.cfg.Child.Log.Warn("an idle child broke the line protocol", "child", l.name, "err", fault.err)
				return false
			}
		case <-l.gone:
			p.cfg.Child.Log.Warn("an idle child died", "child", l.name, "how", l.result.Detail, "messages", l.served)
			return false
		case <-ctx.Done():
			return true
		}
	}
}

// lookEvery is the least time between two measurements of a child's memory.
const lookEvery = 100 * time.Millisecond

// spent returns why a child must be replaced, or "".
func (p *Pool) spent(l *life, recycle int) string {
	if recycle > 0 && l.served >= recycle {
		return "it has had its number of messages"
	}
	if p.cfg.Growth <= 0 || l.base == 0 || time.Since(l.looked) < lookEvery {
		return ""
	}
	l.looked = time.Now()
	if grown := l.usage.memory() - l.base; grown > p.cfg.Growth {
		return fmt.Sprintf("its memory has grown by %d MiB", grown>>20)
	}
	return ""
}

// finish ends a child and waits for its end.
func (p *Pool) finish(l *life, polite bool) {
	patience := time.Duration(0)
	if polite {
		patience = p.cfg.Exit
	}
	l.stop(patience)
}

// pause waits until the next start, or until ctx ends.
func (p *Pool) pause(ctx context.Context, attempt int) {
	select {
	case <-time.After(p.cfg.Backoff.Wait(attempt, rand.Float64())):
	case <-ctx.Done():
	}
}
