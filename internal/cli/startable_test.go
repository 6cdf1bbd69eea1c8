package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/store"
	"github.com/bezoar-dev/bezoar/queue"
)

// What the system refuses comes with what to do.
func TestRefusalsOfTheSystemHaveHints(t *testing.T) {
	script := filepath.Join(t.TempDir(), "app.rb")
	if err := os.WriteFile(script, []byte("puts 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	started := func(errno syscall.Errno) error { return &fs.PathError{Op: "fork/exec", Path: script, Err: errno} }
	bound := func(errno syscall.Errno) error {
		return &net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", errno)}
	}
	for _, c := range []struct {
		err  error
		code int
		want string
	}{
		{&exec.Error{Name: "nosuch", Err: exec.ErrNotFound}, exitNotFound, "install it"},
		{&fs.PathError{Op: "fork/exec", Path: "./nowhere", Err: syscall.ENOENT}, exitNotFound, "write the path from the folder"},
		{started(syscall.ENOENT), exitNotFound, "the interpreter in the first line of " + script},
		{started(syscall.EACCES), exitNotAllowed, "as in: ruby " + script},
		{started(syscall.ENOEXEC), exitFailure, "as in: #!/usr/bin/env ruby"},
		{&fs.PathError{Op: "mkdir", Path: ".bezoar", Err: syscall.EACCES}, exitNotAllowed, "a folder that you may write to"},
		{bound(syscall.EACCES), exitNotAllowed, "choose a port above 1023"},
		{bound(syscall.EADDRNOTAVAIL), exitFailure, "this machine does not have this address"},
		{bound(syscall.EADDRINUSE), exitFailure, "another program listens there"},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, exitNotAllowed, ""},
		{http.ErrSchemeMismatch, exitUnhealthy, "write http:// instead of https://"},
		{errors.New("else"), exitFailure, ""},
	} {
		wrapped := fmt.Errorf("something: %w", c.err)
		if got := hintFor(wrapped); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%v: the hint is %q, want %q", c.err, got, c.want)
		}
		if got := codeOf(wrapped); got != c.code {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.code)
		}
	}
}

// A store that another process holds comes with the other way to its queue.
func TestAQueueOfAStoreThatIsHeld(t *testing.T) {
	engine := tellingEngine()
	engine.Queues = func(context.Context, config.Config, *slog.Logger, func(context.Context, *queue.Engine) error) error {
		return fmt.Errorf("open: %w", store.ErrInUse)
	}
	var errs bytes.Buffer
	code := Main(t.Context(), Process{
		Args:   []string{"work", "-q", "bezoar:jobs", "--state", t.TempDir(), "--", "cat"},
		Stdin:  strings.NewReader(""),
		Stdout: io.Discard, Stderr: &errs, Getenv: func(string) string { return "" }, Engine: engine,
	})
	want := "bezoar: open: in use by another process\nhint: if bezoar serve holds it, name the queue by its URL, as in --queue http://127.0.0.1:9324/000000000000/jobs\n"
	if code != exitFailure || errs.String() != want {
		t.Errorf("exit code %d, stderr %q, want %q", code, errs.String(), want)
	}
}
