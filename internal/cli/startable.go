package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// startable reports why a program cannot be started, with the fix, before anything
// else is begun.
func startable(program string) error {
	_, err := exec.LookPath(program)
	if err == nil {
		return nil
	}
	cause := errors.Unwrap(err)
	if path, ok := errors.AsType[*fs.PathError](cause); ok { // it names the file once more
		cause = path.Err
	}
	return hinted(fmt.Errorf("start %s: %w", clean(program), cause), "%s", startHint(err))
}

// startHint says how to mend what keeps a program from starting; "" if err is about
// something else.
func startHint(err error) string {
	program := ""
	if look, ok := errors.AsType[*exec.Error](err); ok {
		program = look.Name
	} else if path, ok := errors.AsType[*fs.PathError](err); ok && path.Op == "fork/exec" {
		program = path.Path
	}
	if program == "" {
		return ""
	}
	return programHint(program, err)
}

// cannotStart is the error of a program that the system refuses to start, with the fix; nil if what names no
// such refusal.
func cannotStart(program, what string) error {
	for _, cause := range []error{syscall.ENOEXEC, syscall.ENOENT, syscall.EACCES} {
		if strings.HasSuffix(what, cause.Error()) {
			return hinted(fmt.Errorf("start %s: %w", clean(program), cause), "%s", programHint(program, cause))
		}
	}
	return nil
}

// programHint says how to mend what keeps this program from starting.
func programHint(program string, err error) string {
	name := clean(program)
	_, missing := os.Stat(program)
	switch {
	case errors.Is(err, exec.ErrNotFound) && !strings.ContainsRune(program, filepath.Separator) && missing == nil:
		return fmt.Sprintf("write ./%s for the file in this folder", name)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, exec.ErrDot):
		return "install it, or write its path"
	case errors.Is(err, fs.ErrNotExist) && missing == nil:
		return fmt.Sprintf("the interpreter in the first line of %s does not exist here", name)
	case errors.Is(err, fs.ErrNotExist):
		return "write the path from the folder in which you start Bezoar, or from /"
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("chmod +x %s allows it; or name what runs it, as in: %s %[1]s", name, interpreter(program))
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Sprintf("%s is not a program of this system, or its first line does not name what runs it, as in: #!/usr/bin/env %s", name, interpreter(program))
	}
	return ""
}

// interpreter is what runs a file of this name.
func interpreter(file string) string {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".py":
		return "python3"
	case ".js", ".mjs", ".cjs":
		return "node"
	case ".rb":
		return "ruby"
	case ".php":
		return "php"
	case ".pl":
		return "perl"
	}
	return "sh"
}
