package flow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Classified is an error that knows its class of failure. Other errors have the class Bug.
type Classified interface {
	error
	Class() bezoar.Class
}

// Fail wraps an error with its class.
func Fail(class bezoar.Class, err error) error { return &classified{class, err} }

type classified struct {
	class bezoar.Class
	err   error
}

func (e *classified) Error() string       { return e.err.Error() }
func (e *classified) Unwrap() error       { return e.err }
func (e *classified) Class() bezoar.Class { return e.class }

// keepEndings is how many ends of attempts are kept for repeated calls of Wait.
const keepEndings = 1024

// InProcess returns an executor of functions in this process. A timeout only ends the
// context of a function: a function that ignores it cannot be stopped, and the next
// attempt waits for it. Attempts have no logs.
func InProcess(f Functions) Executor {
	return &inProcess{functions: f, calls: map[int64]*call{}}
}

type inProcess struct {
	functions Functions
	mu        sync.Mutex // guards the fields below
	calls     map[int64]*call
	kept      []int64 // tokens of finished calls, oldest first
}

type call struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
	end    Ending
}

// stopped is the cause of a cancelled call.
type stopped struct{ Stop }

func (s *stopped) Error() string { return s.Why }

func (x *inProcess) Start(_ context.Context, s Spec) error {
	f := x.functions[s.Func]
	if f == nil {
		if s.Func == "" {
			return fmt.Errorf("task %s is not a function: this engine runs only functions", s.Task)
		}
		return fmt.Errorf("there is no function %.80q in this program", s.Func)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.calls[s.Token] != nil {
		return nil
	}
	ctx, cancel := context.WithCancelCause(context.Background()) // an attempt outlives the call that starts it
	c := &call{cancel: cancel, done: make(chan struct{})}
	x.calls[s.Token] = c
	go x.run(ctx, f, s, c)
	return nil
}

func (x *inProcess) run(ctx context.Context, f Func, s Spec, c *call) {
	began := time.Now()
	if s.Timeout > 0 {
		timer := time.AfterFunc(s.Timeout, func() {
			c.cancel(&stopped{Stop{Class: bezoar.Timeout, Why: fmt.Sprintf("it ran for more than %v", s.Timeout)}})
		})
		defer timer.Stop()
	}
	end := invoke(ctx, f, s.Input)
	end.Elapsed = time.Since(began)
	var why *stopped
	if end.Class != bezoar.Done && errors.As(context.Cause(ctx), &why) {
		end.Class, end.Reason, end.Fingerprint, end.Group, end.Quality = why.Stop.Class, why.Why, "", "", ""
	}
	c.cancel(nil)
	x.mu.Lock()
	defer x.mu.Unlock()
	c.end = end
	close(c.done)
	if x.kept = append(x.kept, s.Token); len(x.kept) > keepEndings {
		delete(x.calls, x.kept[0])
		x.kept = x.kept[1:]
	}
}

// invoke calls a function and recovers its panic.
func invoke(ctx context.Context, f Func, in Input) (end Ending) {
	defer func() {
		if p := recover(); p != nil {
			end = Ending{Class: bezoar.Crash, Reason: fmt.Sprintf("panic: %v", p)}
			end.Fingerprint, end.Group, end.Quality = panicked(p)
		}
	}()
	out, err := f(ctx, in)
	if err == nil {
		return Ending{Class: bezoar.Done, Output: out}
	}
	end = Ending{Class: bezoar.Bug, Reason: err.Error(), Quality: "C"}
	if c := Classified(nil); errors.As(err, &c) {
		end.Class = c.Class()
	}
	end.Fingerprint = hashed("error", rootType(err), folded(err.Error()))
	end.Group = end.Fingerprint
	return end
}

// panicked returns the fingerprint of a panic, derived from its place.
func panicked(p any) (fingerprint, group, quality string) {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	kind := fmt.Sprintf("%T", p)
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") {
			return hashed("panic", kind, f.Function, strconv.Itoa(f.Line)), hashed("panic", kind, f.Function), "A"
		}
		if !more {
			return hashed("panic", kind), hashed("panic", kind), "C"
		}
	}
}

func rootType(err error) string {
	for next := err; next != nil; next = errors.Unwrap(next) {
		err = next
	}
	return fmt.Sprintf("%T", err)
}

// folded returns a text without its numbers.
func folded(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, clip(s, 1000))
}

func hashed(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

func (x *inProcess) call(token int64) *call {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.calls[token]
}

func (x *inProcess) Wait(ctx context.Context, token int64) (Ending, error) {
	c := x.call(token)
	if c == nil {
		return Ending{}, fmt.Errorf("attempt %d: %w", token, ErrNotFound)
	}
	select {
	case <-c.done:
		return c.end, nil
	case <-ctx.Done():
		return Ending{}, ctx.Err()
	}
}

func (x *inProcess) Stop(_ context.Context, token int64, class bezoar.Class, why string) error {
	if c := x.call(token); c != nil {
		c.cancel(&stopped{Stop{Token: token, Class: class, Why: why}})
	}
	return nil
}

// Absent waits for the function; functions of an earlier process died with it.
func (x *inProcess) Absent(ctx context.Context, token int64) error {
	c := x.call(token)
	if c == nil {
		return nil
	}
	c.cancel(&stopped{Stop{Token: token, Class: bezoar.Interrupted, Why: "its engine has ended"}})
	_, err := x.Wait(ctx, token)
	return err
}

func (x *inProcess) Logs(context.Context, int64, int64, bool) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("")), nil
}
