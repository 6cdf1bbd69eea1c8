package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os/exec"
	"syscall"

	"github.com/bezoar-dev/bezoar/internal/cli/cmdline"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// The exit codes. They are part of the interface.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitNotAllowed  = 4
	exitPlanChanged = 5
	exitPartly      = 6
	exitTimedOut    = 7
	exitUnhealthy   = 8   // or not reachable
	exitInterrupted = 130 // by a second signal, as shells say it
)

// exitError is an error with an exit code and a hint.
type exitError struct {
	code int
	err  error
	hint string
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func exitf(code int, format string, args ...any) error {
	return &exitError{code: code, err: fmt.Errorf(format, args...)}
}

// hinted adds a hint: a line that says what to try next.
func hinted(err error, format string, args ...any) error {
	return &exitError{code: codeOf(err), err: err, hint: fmt.Sprintf(format, args...)}
}

// codeOf maps an error to its exit code.
func codeOf(err error) int {
	var (
		exit    *exitError
		parse   *cmdline.Error
		problem *adminapi.Problem
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit) && exit.code != exitUsage && exit.code != exitFailure:
		return exit.code
	case errors.As(err, &problem):
		return codeOfProblem(problem)
	case unreachable(err):
		return exitUnhealthy
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		return exitNotFound
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return exitNotAllowed
	case errors.Is(err, fs.ErrExist):
		return exitUsage
	case exit != nil:
		return exit.code
	case errors.As(err, &parse):
		return exitUsage
	case errors.Is(err, context.DeadlineExceeded):
		return exitTimedOut
	}
	return exitFailure
}

// unreachable reports whether the server did not answer, or another server answered.
func unreachable(err error) bool {
	if _, ok := errors.AsType[*adminapi.ReachError](err); ok && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	if _, ok := errors.AsType[*adminapi.StrangerError](err); ok {
		return true
	}
	sent, ok := errors.AsType[*net.OpError](err)
	return ok && sent.Op == "dial" || errors.Is(err, http.ErrSchemeMismatch)
}

func codeOfProblem(p *adminapi.Problem) int {
	switch p.Code {
	case adminapi.CodeInvalid, adminapi.CodeTooLarge:
		return exitUsage
	case adminapi.CodeNotFound, adminapi.CodeFixed:
		return exitNotFound
	case adminapi.CodeUnauthorized, adminapi.CodeForbidden:
		return exitNotAllowed
	case adminapi.CodeConflict, adminapi.CodePlanChanged:
		return exitPlanChanged
	case adminapi.CodeTimeout:
		return exitTimedOut
	case adminapi.CodeUnavailable:
		return exitUnhealthy
	}
	return exitFailure
}

// hintFor returns a hint, or "".
func hintFor(err error) string {
	var (
		exit    *exitError
		reach   *adminapi.ReachError
		other   *adminapi.StrangerError
		problem *adminapi.Problem
	)
	switch {
	case errors.As(err, &exit) && exit.hint != "":
		return exit.hint
	case errors.Is(err, http.ErrSchemeMismatch):
		return "it speaks plain HTTP: write http:// instead of https://"
	case errors.As(err, &reach):
		return "start Bezoar there, or set its address with --admin or BEZOAR_ADMIN"
	case errors.As(err, &other):
		return "set the address of Bezoar's admin API with --admin or BEZOAR_ADMIN; it is not the address for callers"
	case errors.As(err, &problem) && problem.Code == adminapi.CodeUnauthorized:
		return "put the admin token into BEZOAR_ADMIN_TOKEN"
	case errors.Is(err, syscall.EADDRINUSE):
		return "another program listens there, perhaps another Bezoar; set another address with --listen or --admin, or in the settings"
	}
	if errors.Is(err, syscall.EADDRNOTAVAIL) {
		return "this machine does not have this address; 0.0.0.0 listens on all addresses"
	}
	return cmp.Or(startHint(err), permissionHint(err))
}

// permissionHint says what a refusal of the system is about; "" if err is none that it
// knows.
func permissionHint(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok && path.Op == "mkdir" && !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOSPC) {
		return "start Bezoar in a folder that you may write to, or set another one: --store sqlite:PATH, or store and state_dir in the settings"
	}
	if sent, ok := errors.AsType[*net.OpError](err); ok && sent.Op == "listen" && errors.Is(err, fs.ErrPermission) {
		return "choose a port above 1023, or allow lower ones as root: setcap cap_net_bind_service=+ep PATH-OF-BEZOAR"
	}
	return ""
}

// each calls do for every item, and goes on after failures, which it reports. If some failed and some did not, the exit code
// is 6.
func each[T any](s *session, items []T, do func(T) error) error {
	var first error
	failed := 0
	for _, item := range items {
		if err := do(item); err != nil {
			if failed++; first == nil {
				first = err
			}
			if len(items) > 1 {
				s.complain(err, s.json)
			}
		}
	}
	switch {
	case failed == 0:
		return nil
	case len(items) == 1:
		return first
	case failed < len(items):
		return exitf(exitPartly, "%d of %d failed", failed, len(items))
	}
	return &exitError{code: codeOf(first), err: fmt.Errorf("all %d failed", failed)}
}
