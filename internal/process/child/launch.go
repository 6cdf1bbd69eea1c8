package child

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// newProcess prepares a job in its own slot. The caller must start the process and later bury it.
func (r *Runner) newProcess(ctx context.Context, j *Job) (*Process, launch, error) {
	p := r.processOf(j)
	if err := errors.Join(checkEnv("env", j.Env), checkCommand(p.command), checkMemory(j.Memory)); err != nil {
		return nil, launch{}, err
	}
	s, err := r.take(ctx, cmp.Or(j.Memory, r.cfg.Memory))
	if err != nil {
		return nil, launch{}, err
	}
	path, err := r.paths.find(p.command[0])
	if err != nil {
		r.give(s)
		return nil, launch{}, err
	}
	seq := r.seq.Add(1)
	owner := r.id.owner(seq)
	p.slot, p.family = s, proc.Family{Tag: proc.NewTag(r.cfg.Mark, seq), Variable: EnvOwner + "=" + owner}
	l := launch{
		path:   path,
		env:    proc.Override(r.env, append(append(make([]string, 0, len(j.Env)+2), j.Env...), p.family.Variable, EnvName+"="+j.Name)...),
		sys:    r.user.Become(proc.DieWithThread(proc.OwnSession())),
		limits: r.rlimits(s, p.family.Tag),
	}
	if s.cell != nil {
		s.cell.Apply(l.sys)
	}
	return p, l, nil
}

// processOf returns the process of a job, without a slot.
func (r *Runner) processOf(j *Job) *Process {
	p := &Process{
		r: r, name: j.Name, command: r.cfg.Command, dir: cmp.Or(j.Dir, r.cfg.Dir), done: make(chan struct{}),
		limit: max(0, cmp.Or(j.Timeout, r.cfg.Timeout)), grace: cmp.Or(j.Grace, r.cfg.Grace),
	}
	if len(j.Command) > 0 {
		p.command = j.Command
	}
	return p
}

// launch holds the parameters for starting a process.
type launch struct {
	path   string
	env    []string
	sys    *syscall.SysProcAttr
	limits proc.Limits
	held   bool
}

// hold makes the process stop before its first instruction where that is possible, until [Process.restrict]. This is needed
// in a cell as well: for a dead process, only the tag tells to which job it belonged.
func (l *launch) hold(p *Process) {
	l.held = p.r.means.hold && !privileged(l.path, p.dir)
	if l.held {
		proc.Hold(l.sys)
	}
}

// restrict sets the limits of a started process, on the thread that started it, and lets it run. If it could not be held
// before its first instruction, it runs already but has no input yet. If the limits cannot be set, it is killed.
func (p *Process) restrict(l launch) error {
	p.family.Session = p.Pid
	err := p.r.user.As(func() error { return l.limits.Apply(p.Pid) })
	if err == nil && l.held {
		err = proc.Release(p.Pid)
	}
	if err == nil || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	_ = proc.SignalGroup(p.Pid, syscall.SIGKILL)
	_ = proc.Reap(p.Pid, func() { _ = p.end() }, p.collect)
	return err
}

// begin registers the process and starts its timeout.
func (p *Process) begin(j *Job) {
	if j.Started != nil {
		j.Started(p.Pid)
	}
	if p.limit > 0 {
		p.mu.Lock()
		p.timer = time.AfterFunc(p.limit, p.overdue)
		p.mu.Unlock()
	}
	r := p.r
	r.mu.Lock()
	r.live[p] = struct{}{}
	stopped := r.stopped
	r.mu.Unlock()
	if stopped {
		p.Kill(bezoar.Interrupted, "drained")
	}
	if p.slot.memory > 0 && (p.slot.cell == nil || !p.slot.cell.Memory()) {
		go p.guard()
	}
}

// start starts a job whose streams goroutines read.
func (r *Runner) start(ctx context.Context, j *Job, piped bool) (*Process, error) {
	p, l, err := r.newProcess(ctx, j)
	if err != nil {
		return nil, fmt.Errorf("start job %s: %w", j.Name, err)
	}
	if err := p.spawn(l); err != nil {
		p.pipes.close()
		r.give(p.slot)
		return nil, fmt.Errorf("start job %s: %w", j.Name, err)
	}
	p.begin(j)
	p.listen(j, piped)
	return p, nil
}

// spawn starts the process with its own pipes.
func (p *Process) spawn(l launch) (err error) {
	if p.pipes, err = openPipes(); err != nil {
		return err
	}
	l.hold(p)
	attr := &os.ProcAttr{Dir: p.dir, Env: l.env, Files: p.pipes.theirs[:], Sys: l.sys}
	if p.pipes.theirs[report] == nil {
		attr.Files = attr.Files[:report]
	}
	p.slot.thread.Do(func() {
		p.began = time.Now()
		if p.os, err = os.StartProcess(l.path, p.command, attr); err != nil {
			p.r.paths.forget(p.command[0])
			return
		}
		p.Pid = p.os.Pid
		err = p.restrict(l)
	})
	p.pipes.closeTheirs()
	return err
}

// listen reads the job's output and writes its input.
func (p *Process) listen(j *Job, piped bool) {
	for i := stdout; i < pipeCount; i++ {
		if f := p.pipes.ours[i]; f != nil {
			p.outs[i] = &outlet{f: f}
		}
	}
	read := func(i int, to io.Writer) {
		if o := p.outs[i]; o != nil {
			p.reads.Go(func() { drain(o, to, &p.r.chunks) })
		}
	}
	errs := &copied{&p.slot.stderr, j.Stderr}
	read(report, p.told(j))
	if piped {
		p.live = newLive(p.outs[stderr], errs)
		p.reads.Go(func() { p.live.drain(&p.r.chunks) })
		p.Stdin, p.Stdout = p.pipes.ours[stdin], p.outs[stdout]
		return
	}
	read(stderr, errs)
	read(stdout, &copied{&p.slot.stdout, j.Stdout})
	p.feed(j.Stdin)
}

// feed writes the body. A job need not read it.
func (p *Process) feed(body []byte) {
	in := p.pipes.ours[stdin]
	if len(body) <= inlineMax {
		_, _ = in.Write(body)
		_ = in.Close()
		return
	}
	p.reads.Go(func() {
		_, _ = in.Write(body)
		_ = in.Close()
	})
}
