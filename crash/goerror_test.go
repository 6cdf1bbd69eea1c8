package crash

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"github.com/bezoar-dev/bezoar"
)

// stacked is an error as packages that keep stacks make it.
type stacked struct {
	msg string
	pcs []uintptr
	err error
}

func (e *stacked) Error() string      { return e.msg }
func (e *stacked) Callers() []uintptr { return e.pcs }
func (e *stacked) Unwrap() error      { return e.err }

//go:noinline
func failHere(msg string, cause error) error {
	pcs := make([]uintptr, 16)
	return &stacked{msg, pcs[:runtime.Callers(1, pcs)], cause}
}

//go:noinline
func failThere(msg string) error {
	pcs := make([]uintptr, 16)
	return &stacked{msg, pcs[:runtime.Callers(1, pcs)], nil}
}

type pgError struct{ state string }

func (e pgError) Error() string    { return "pg: " + e.state }
func (e pgError) SQLState() string { return e.state }

type httpError int

func (e httpError) Error() string   { return fmt.Sprintf("status %d", int(e)) }
func (e httpError) StatusCode() int { return int(e) }

func TestFromErrorClasses(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for name, c := range map[string]struct {
		err  error
		want bezoar.Class
	}{
		"refused":         {fmt.Errorf("load: %w", &url.Error{Op: "Get", URL: "http://10.1.2.3/", Err: refused}), bezoar.Outage},
		"name":            {&net.DNSError{Err: "no such host", Name: "db"}, bezoar.Outage},
		"deadline":        {fmt.Errorf("step 3: %w", context.DeadlineExceeded), bezoar.Transient},
		"canceled":        {context.Canceled, bezoar.Interrupted},
		"full disk":       {&fs.PathError{Op: "write", Path: "/tmp/x", Err: syscall.ENOSPC}, bezoar.Transient},
		"joined":          {errors.Join(errors.New("cleanup"), refused), bezoar.Outage},
		"serialization":   {fmt.Errorf("tx: %w", pgError{"40001"}), bezoar.Transient},
		"too many":        {pgError{"53300"}, bezoar.Throttled},
		"no such table":   {pgError{"42P01"}, bezoar.Bug},
		"throttled":       {httpError(429), bezoar.Throttled},
		"bad gateway":     {httpError(502), bezoar.Outage},
		"not found":       {httpError(404), bezoar.Bug},
		"no such file":    {&fs.PathError{Op: "open", Path: "/x", Err: syscall.ENOENT}, bezoar.Bug},
		"anything":        {errors.New("nine lives"), bezoar.Bug},
		"nothing at all":  {nil, bezoar.Done},
		"out of memory":   {syscall.ENOMEM, bezoar.OOM},
		"words are heard": {errors.New("rpc: too many requests"), bezoar.Throttled},
	} {
		if got := FromError(c.err); got.Class != c.want {
			t.Errorf("%s: %v, want %v (%q)", name, got.Class, c.want, got.Why)
		}
	}
}

func TestFromErrorGroups(t *testing.T) {
	group := func(err error) string { return FromError(err).Group }
	if group(errors.New("no route for order 7")) != group(errors.New("no route for order 12")) {
		t.Error("numbers are not part of a failure")
	}
	if group(errors.New("no route")) == group(errors.New("no price")) {
		t.Error("two errors.New are two failures")
	}
	if group(failHere("a", nil)) == group(failThere("a")) {
		t.Error("two functions are two failures")
	}
	if group(failHere("no route", nil)) == group(failHere("no price", nil)) {
		t.Error("two errors of one helper are two failures")
	}
	if group(failHere("a 1", nil)) != group(fmt.Errorf("more: %w", failHere("a 2", nil))) {
		t.Error("wrapping does not change the failure")
	}
	inner := FromError(failHere("outer", failThere("inner")))
	if inner.Frame.Line == 0 || !strings.HasSuffix(inner.Frame.Function, "failThere") || inner.Quality != Own {
		t.Errorf("got %v (quality %s), want the innermost frame, failThere", inner.Frame, inner.Quality)
	}
}

func TestFromPanic(t *testing.T) {
	var m map[string]int
	r := recovered(func() { m["x"] = 1 })
	if r.Quality != Own || !strings.HasSuffix(r.Frame.File, "goerror_test.go") || !strings.Contains(r.Frame.Function, "TestFromPanic") {
		t.Errorf("got %v %s %q", r.Frame, r.Quality, r.Why)
	}
	refused := recovered(func() { panic(fmt.Errorf("dial: %w", syscall.ECONNREFUSED)) })
	if refused.Class != bezoar.Outage {
		t.Errorf("a panic with a refused connection is %v, want outage", refused.Class)
	}
	for _, v := range []any{"text", 7, struct{ a int }{3}, errors.New("x"), nil} {
		if r := FromPanic(v, debug.Stack()); r.Group == "" || r.Class != bezoar.Bug {
			t.Errorf("panic(%v): %v %q", v, r.Class, r.Group)
		}
	}
}

func recovered(f func()) (r Report) {
	defer func() { r = FromPanic(recover(), debug.Stack()) }()
	f()
	return r
}
