package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Runner runs jobs. Create it with [New]; jobs can be run while Run runs.
type Runner struct {
	cfg Config
}

// New returns a Runner that has started nothing yet.
func New(cfg Config) (*Runner, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	return &Runner{cfg: cfg.withDefaults()}, nil
}

// Run owns what jobs need until ctx ends and the last of them has.
func (r *Runner) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Limits says for people which limits hold and by which means.
func (r *Runner) Limits() string { return "none" }

// Sweep kills what a dead predecessor of the same Mark left.
func (r *Runner) Sweep(context.Context) (int, error) { return 0, nil }

// Process is a started job.
type Process struct {
	Stdin  io.WriteCloser // the job's; EPIPE when it does not read
	Stdout io.ReadCloser  // the caller reads it to its end, or closes it
	Pid    int

	cmd *exec.Cmd
	err bytes.Buffer
	why string
}

// Start starts a job whose stdin and stdout belong to the caller. When ctx ends
// it is stopped as by Kill with [bezoar.Interrupted]. Job.Stdin and Job.Stdout
// are not used. Every Process must be waited for.
func (r *Runner) Start(ctx context.Context, j Job) (*Process, error) {
	p := &Process{cmd: exec.CommandContext(ctx, r.cfg.Command[0], r.cfg.Command[1:]...)}
	p.cmd.Dir, p.cmd.Env = r.cfg.Dir, append(os.Environ(), j.Env...)
	p.cmd.Stderr = &p.err
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.Stdin, _ = p.cmd.StdinPipe()
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.Stdout, p.cmd.Stdout = out, in
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", r.cfg.Command[0], err)
	}
	_ = in.Close()
	p.Pid = p.cmd.Process.Pid
	return p, nil
}

// Kill stops the process: SIGTERM, grace, SIGKILL. It does not wait. class is
// what the end will be called when this is what ended it ([bezoar.Timeout] or
// [bezoar.Interrupted]), why is said in its Detail. The first call counts.
func (p *Process) Kill(class bezoar.Class, why string) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// Wait waits until nothing of the job is left and says how it ended. It may be
// called more than once.
func (p *Process) Wait() Result {
	_ = p.cmd.Wait()
	return judge(p.cmd.ProcessState, p.err.Bytes())
}

// Do runs one job to its end. The end of ctx is a drain: SIGTERM, grace,
// SIGKILL, and the class is [bezoar.Interrupted] unless the job reached another
// by itself within the grace.
func (r *Runner) Do(ctx context.Context, j Job) Result {
	timeout := r.cfg.Timeout
	if j.Timeout != 0 {
		timeout = j.Timeout
	}
	inner := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		inner, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	began := time.Now()
	p, err := r.Start(inner, j)
	if err != nil {
		return Result{Class: bezoar.SpawnFailed, ExitCode: -1, Detail: err.Error(), Err: err}
	}
	if j.Started != nil {
		j.Started(p.Pid)
	}
	go func() { _, _ = p.Stdin.Write(j.Stdin); _ = p.Stdin.Close() }()
	var out bytes.Buffer
	_, _ = io.Copy(&out, p.Stdout)
	res := p.Wait()
	res.Stdout, res.Elapsed = out.Bytes(), time.Since(began)
	if j.Stdout != nil {
		_, _ = j.Stdout.Write(out.Bytes())
	}
	if j.Stderr != nil {
		_, _ = j.Stderr.Write(res.Stderr)
	}
	switch {
	case ctx.Err() != nil:
		res.Class = bezoar.Interrupted
	case errors.Is(inner.Err(), context.DeadlineExceeded):
		res.Class = bezoar.Timeout
	}
	return res
}

func judge(st *os.ProcessState, stderr []byte) Result {
	res := Result{ExitCode: st.ExitCode(), Detail: st.String(), Stderr: stderr}
	switch {
	case st.Success():
	case res.ExitCode == 75:
		res.Class = bezoar.Transient
	case res.ExitCode == 65:
		res.Class = bezoar.Invalid
	case res.ExitCode >= 0:
		res.Class = bezoar.Bug
	default:
		res.Class = bezoar.Crash
	}
	return res
}
