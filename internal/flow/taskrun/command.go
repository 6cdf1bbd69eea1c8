package taskrun

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/regular"
	"github.com/bezoar-dev/bezoar/internal/process/child"
	"github.com/bezoar-dev/bezoar/internal/process/evidence"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// maxRowBytes is the most bytes of all bad rows of one attempt.
const maxRowBytes = 16 << 20

func (r *Runner) job(a *attempt, env *environment, command []string) child.Job {
	s := &a.spec
	timeout := s.Timeout
	timeout = cmp.Or(timeout, -1)
	return child.Job{
		Name: s.Task + "." + strconv.Itoa(s.Index), Command: command, Dir: s.Dir, Grace: s.Grace, Memory: s.Memory, Timeout: timeout,
		Env: env.vars, Stdin: s.Stdin, Stdout: env.masked(a.log), Stderr: env.masked(a.log),
	}
}

func (r *Runner) command(ctx context.Context, a *attempt, env *environment, command []string) flow.Ending {
	out, err := r.openOutput(a.spec.Token)
	if err != nil {
		return notStarted(command[0], err)
	}
	wrote := true
	defer func() {
		if wrote {
			_ = os.Remove(out)
		}
	}()
	bad := &badRows{stdin: a.spec.Stdin}
	job := r.job(a, env, command)
	job.Row = bad.add
	res := r.do(ctx, a, job)
	e := ofResult(&res, command[0])
	if e.Class == bezoar.Done {
		if e.Output, wrote, err = readOutput(out); err != nil {
			elapsed, cpu, rss := e.Elapsed, e.CPU, e.MaxRSS
			e = failed(bezoar.Invalid, "output", err.Error())
			e.ExitCode, e.Elapsed, e.CPU, e.MaxRSS = 0, elapsed, cpu, rss
		}
	}
	if res.Report != nil {
		for _, row := range res.Report.Rows {
			bad.add(row)
		}
	}
	if e.Rows = bad.rows; bad.more > 0 { // some would be lost
		e.Rows, e.Class = nil, bezoar.Invalid
		e.Reason = fmt.Sprintf("%d of its rows are bad: that is more than %d, or than %d bytes", bad.more+len(bad.rows), flow.MaxRows, maxRowBytes)
	}
	return e
}

// stuckPause is the time between two tries to kill the processes that a job left.
const stuckPause = time.Second

// do runs a job until no process of it is left.
func (r *Runner) do(ctx context.Context, a *attempt, j child.Job) child.Result {
	res := r.child.Do(ctx, j)
	closeMask(j.Stdout)
	closeMask(j.Stderr)
	for tries := 0; res.Left != nil; tries++ {
		if tries == 0 {
			r.cfg.Log.Error("processes of an attempt cannot be killed: the next attempt waits", "attempt", a.spec.Token, "err", res.Left)
		}
		time.Sleep(stuckPause)
		if res.Left.End() == nil {
			break
		}
	}
	return res
}

// ofResult converts the result of a child process.
func ofResult(res *child.Result, command string) flow.Ending {
	e := flow.Ending{Class: res.Class, Reason: res.Detail, ExitCode: res.ExitCode}
	switch {
	case res.Class == bezoar.Done:
		e.Reason = ""
	case res.Class == bezoar.Interrupted:
	case res.Class == bezoar.Crash && res.Unexplained: // the cause is unknown, and the task wrote nothing
		e.Class = bezoar.Interrupted
	default:
		f := evidence.OfChild(res, command)
		e.Class, e.Fingerprint, e.Group, e.Quality = f.Class, f.Fingerprint, f.Group, string(f.Quality)
		if f.Reason != "" {
			e.Reason = f.Reason
		}
	}
	e.Elapsed, e.CPU, e.MaxRSS = res.Elapsed, res.CPU, res.MaxRSS
	if p := res.Report; p != nil {
		e.RetryAfter, e.Downstream = p.RetryAfter, p.Downstream
		if p.Reason != "" {
			e.Reason = p.Reason
		}
	}
	return e
}

// badRows collects the rows that a task reports: with a body, or as line numbers of its stdin.
type badRows struct {
	stdin []byte
	lines [][]byte // of stdin, once needed
	rows  []flow.Row
	size  int
	more  int // rows beyond the limits
}

func (b *badRows) add(said child.Row) {
	row := flow.Row{Index: said.Index, Reason: said.Reason, Body: []byte(said.Body)}
	if b.lines == nil {
		b.lines = bytes.SplitAfter(b.stdin, []byte("\n"))
	}
	if said.Body == "" && said.Index < len(b.lines) {
		row.Body = bytes.TrimRight(b.lines[said.Index], "\r\n")
	}
	b.size += len(row.Body) + len(row.Reason)
	if b.more > 0 || len(b.rows) == flow.MaxRows || b.size > maxRowBytes || len(row.Body) > flow.MaxRow {
		b.more++
		return
	}
	b.rows = append(b.rows, row)
}

func (r *Runner) outPath(token int64) string {
	return filepath.Join(r.cfg.Dir, "out", strconv.FormatInt(token, 10))
}

// makeOut creates the folder for outputs. The user of the commands may write there.
func (r *Runner) makeOut() error {
	dir := filepath.Join(r.cfg.Dir, "out")
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// openOutput creates the file for an output and returns its name. Another user cannot create it.
func (r *Runner) openOutput(token int64) (string, error) {
	path := r.outPath(token)
	if r.cfg.User == "" {
		return path, nil
	}
	user, err := proc.FindUser(r.cfg.User)
	if err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	return path, errors.Join(user.Give(f), f.Close())
}

// readOutput returns a task's output, and whether the file exists.
func readOutput(path string) (b []byte, wrote bool, err error) {
	if info, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	} else if err == nil && !info.Mode().IsRegular() {
		return nil, true, errors.New("its output is not a regular file")
	}
	b, err = regular.Read(path, flow.MaxOutput)
	if err != nil {
		if info, statErr := os.Stat(path); statErr == nil && info.Size() > flow.MaxOutput {
			return nil, true, fmt.Errorf("its output has %d bytes, more than %d: write large results to a file of your own and its name to $BEZOAR_OUTPUT", info.Size(), flow.MaxOutput)
		}
		return nil, true, fmt.Errorf("its output cannot be read: %w", err)
	}
	return b, true, nil
}
