package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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
		{bound(syscall.EADDRNOTAVAIL), exitFailure, "no interface of this machine"},
		{bound(syscall.EADDRINUSE), exitFailure, "is it another Bezoar?"},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, exitNotAllowed, ""},
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
