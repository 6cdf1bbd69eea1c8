package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/proc"
)

// The variables that every job gets.
const (
	EnvMark   = "BEZOAR_CHILD_MARK" // Config.Mark
	EnvOwner  = "BEZOAR_CHILD"      // which job of which process it is
	EnvName   = "BEZOAR_JOB"        // Job.Name
	EnvReport = "BEZOAR_REPORT_FD"  // the descriptor for a [Report]
	envReport = EnvReport + "=3"
)

const (
	lookEvery    = 50 * time.Millisecond  // at the memory of a job without a group
	dataHeadroom = 512 << 20              // bytes above its limit that one may reach between two looks
	stuckFor     = 2 * time.Second        // until what was killed and does not die is left behind
	dyingFor     = 250 * time.Millisecond // between a service manager's signal to a job and the one to us
)

// Process is a started job.
type Process struct {
	Stdin  io.WriteCloser // EPIPE when the process does not read; nil from Do
	Stdout io.ReadCloser  // the caller reads it to its end, or closes it; nil from Do
	Pid    int

	r      *Runner
	slot   *slot
	os     *os.Process // nil when it is polled
	kin    proc.Kin
	name   string
	began  time.Time
	ended  time.Time
	status syscall.WaitStatus // once it has ended, as the next two
	cpu    time.Duration
	rss    int64
	lost   error         // why its end is not known
	limit  time.Duration // 0 none
	pipes  pipes
	outs   [pipeCount]*outlet
	live   *live // stderr; nil from Do
	said   head
	reads  sync.WaitGroup
	result Result // valid once done is closed
	done   chan struct{}

	mu    sync.Mutex // guards what follows
	dead  bool       // no more signals: its id may belong to another
	asked *stop
	timer *time.Timer // for the deadline, then for the grace
}

// stop is what we asked of a process, and why.
type stop struct {
	class  bezoar.Class
	why    string
	forced bool // SIGTERM was not enough
}

// newProcess prepares a job in a slot of its own. What is returned must be
// started, and buried.
func (r *Runner) newProcess(ctx context.Context, j *Job) (*Process, launch, error) {
	if err := checkEnv("env", j.Env); err != nil {
		return nil, launch{}, err
	}
	s, err := r.take(ctx)
	if err != nil {
		return nil, launch{}, err
	}
	path, err := r.program()
	if err != nil {
		r.give(s)
		return nil, launch{}, err
	}
	seq := r.seq.Add(1)
	owner := r.id.owner(seq)
	p := &Process{
		r: r, slot: s, name: j.Name, limit: r.cfg.Timeout, done: make(chan struct{}),
		kin: proc.Kin{Brand: proc.NewBrand(r.cfg.Mark, seq), Variable: EnvOwner + "=" + owner},
	}
	if j.Timeout != 0 {
		p.limit = max(0, j.Timeout)
	}
	l := launch{
		path:   path,
		env:    proc.Override(r.env, append(append(make([]string, 0, len(j.Env)+2), j.Env...), p.kin.Variable, EnvName+"="+j.Name)...),
		sys:    proc.DieWithThread(proc.OwnSession()),
		limits: r.rlimits(s, p.kin.Brand),
		held:   r.means.hold && !privileged(path, r.cfg.Dir),
	}
	if l.held {
		proc.Hold(l.sys)
	}
	if s.cell != nil {
		s.cell.Apply(l.sys)
	}
	return p, l, nil
}

// launch is what a process is started with.
type launch struct {
	path   string
	env    []string
	sys    *syscall.SysProcAttr
	limits proc.Limits
	held   bool
}

// restrict limits what has just been started, on the thread that started it,
// and lets it run. Where it could not be held it runs already, but has got
// nothing to do yet. When it cannot be limited it is ended.
func (p *Process) restrict(l launch) error {
	p.kin.Session = p.Pid
	err := l.limits.Apply(p.Pid)
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

// begin makes the process one that is known, and one that will be overdue.
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
	if r.cfg.Memory > 0 && (p.slot.cell == nil || !p.slot.cell.Memory()) {
		go p.guard()
	}
}

// start starts a job whose streams are read by goroutines.
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

// spawn starts the process with pipes of its own.
func (p *Process) spawn(l launch) (err error) {
	if p.pipes, err = openPipes(); err != nil {
		return err
	}
	attr := &os.ProcAttr{Dir: p.r.cfg.Dir, Env: l.env, Files: p.pipes.theirs[:], Sys: l.sys}
	if p.pipes.theirs[report] == nil {
		attr.Files = attr.Files[:report]
	}
	p.slot.thread.Do(func() {
		p.began = time.Now()
		if p.os, err = os.StartProcess(l.path, p.r.cfg.Command, attr); err != nil {
			p.r.path.Store(nil) // it may have moved
			return
		}
		p.Pid = p.os.Pid
		err = p.restrict(l)
	})
	p.pipes.closeTheirs()
	return err
}

// listen reads what the job writes and writes what it shall read.
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
	read(report, &p.said)
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

// feed writes the body. That the job does not read it is its own business.
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

// Kill stops the process: SIGTERM to its group, grace, SIGKILL. It does not
// wait. class is what the end will be called if this is what ends it
// ([bezoar.Timeout] or [bezoar.Interrupted]); why is said in its Detail. The
// first call counts.
func (p *Process) Kill(class bezoar.Class, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead || p.asked != nil {
		return
	}
	p.asked = &stop{class: class, why: why}
	if p.timer != nil {
		p.timer.Stop()
	}
	_ = proc.SignalGroup(p.Pid, syscall.SIGTERM)
	p.timer = time.AfterFunc(p.r.cfg.Grace, p.force)
}

func (p *Process) overdue() { p.Kill(bezoar.Timeout, "stopped after "+p.limit.String()) }

// force ends what did not heed SIGTERM.
func (p *Process) force() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return
	}
	p.asked.forced = true
	_ = proc.SignalGroup(p.Pid, syscall.SIGKILL) // its leader cannot leave it
}

// attend sees the process to its end: the death, the end of all that it left,
// the rest of its output, the judgement.
func (p *Process) attend(ctx context.Context) {
	defer close(p.done)
	drained := p.heed(ctx)
	defer drained()
	var oom int64
	err := proc.Reap(p.Pid, func() { oom = p.end() }, p.collect)
	p.drain()
	p.conclude(ctx, oom, err)
}

// heed makes the end of ctx a drain. The function that it returns ends that.
func (p *Process) heed(ctx context.Context) func() bool {
	return context.AfterFunc(ctx, func() { p.Kill(bezoar.Interrupted, "drained") })
}

// conclude judges the dead and gives its place to the next.
func (p *Process) conclude(ctx context.Context, oom int64, lost error) {
	d := death{
		status: p.status, lost: lost, asked: p.asked, oomKills: oom, cpu: p.cpu,
		memory: p.r.cfg.Memory, cpuLimit: p.r.cfg.CPU, command: p.r.cfg.Command,
		stderr: p.slot.stderr.Bytes(),
	}
	if d.stoppedByOther() {
		d.drained = p.drainFollows(ctx)
	}
	d.report, d.reportErr = parseSaid(p.said.b)
	p.result = judge(d)
	p.result.Elapsed, p.result.MaxRSS = p.ended.Sub(p.began), p.rss
	p.result.Stdout = p.slot.stdout.Bytes()
	p.r.bury(p)
}

func (r *Runner) bury(p *Process) {
	r.mu.Lock()
	delete(r.live, p)
	r.mu.Unlock()
	r.give(p.slot)
}

// end ends everything that a dead leader has left, while its number is its. It
// returns how many the kernel had killed for memory.
func (p *Process) end() int64 {
	p.ended = time.Now()
	p.mu.Lock()
	p.dead = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	log := p.r.cfg.Log
	_ = proc.SignalGroup(p.Pid, syscall.SIGKILL)
	cell := p.slot.cell
	if cell != nil {
		if empty, err := cell.Empty(); err != nil || !empty {
			if err := cell.Kill(); err != nil {
				p.slot.spoilt = true
				log.Warn("what a job left stays", "job", p.name, "why", err)
			}
		}
	}
	// With the death of each its children come to us, so that in the end all
	// have.
	if n, err := proc.EndAdopted(p.kin, stuckFor); err != nil {
		p.slot.spoilt = true
		log.Warn("what a job left stays", "job", p.name, "why", err)
	} else if n > 0 {
		log.Debug("killed what a job left running", "job", p.name, "processes", n)
	}
	if cell == nil {
		return 0
	}
	kills, err := cell.OOMKills()
	if err != nil {
		log.Warn("kills for memory cannot be told", "job", p.name, "why", err)
	}
	if p.r.cfg.Memory > 0 && cell.Held() > p.r.cfg.Memory/spoiltShare || cell.Counted() > 1 {
		p.slot.spoilt = true // only the leader, which is not collected yet, should count
	}
	return kills
}

// collect buries the dead.
func (p *Process) collect() error {
	if p.os == nil {
		return p.collectPolled()
	}
	st, err := p.os.Wait()
	if err != nil {
		return err
	}
	p.status, p.cpu, p.rss = proc.Status(st), st.UserTime()+st.SystemTime(), proc.MaxRSS(st)
	return nil
}

// drain waits for the output of the dead, and then for nothing more.
func (p *Process) drain() {
	for _, o := range p.outs {
		if o != nil {
			o.expire()
		}
	}
	if p.Stdin == nil {
		_ = p.pipes.ours[stdin].Close()
	}
	p.reads.Wait()
}

// drainFollows reports whether we are asked to stop as well: a service manager
// signals every process of a service at once.
func (p *Process) drainFollows(ctx context.Context) bool {
	t := time.NewTimer(dyingFor)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-p.r.closed:
	case <-t.C:
		return false
	}
	return true
}

// guard kills a process without a memory group that holds too much. A limit of
// the process itself would be exact, but runtimes that meet one often die in
// ways that cannot be told from other crashes, or hang: it is set far above, for
// those that outrun the looks.
func (p *Process) guard() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-tick.C:
		}
		held := proc.Resident(p.Pid)
		if held <= p.r.cfg.Memory {
			continue
		}
		p.mu.Lock()
		if !p.dead {
			p.asked = &stop{class: bezoar.OOM, why: fmt.Sprintf("%d MiB resident", held>>20)}
			_ = proc.SignalGroup(p.Pid, syscall.SIGKILL)
		}
		p.mu.Unlock()
	}
}

// CatchUp returns once all that a process from [Runner.Start] has written to
// stderr until now has been written to Job.Stderr.
func (p *Process) CatchUp() { p.live.catchUp() }

// Wait waits until nothing of the job is left and says how it ended. It may be
// called more than once.
func (p *Process) Wait() Result {
	<-p.done
	return p.result
}

// owner is what tells a job from all others.
func (id identity) owner(seq uint64) string {
	return strconv.Itoa(id.pid) + "." + strconv.FormatUint(id.born, 10) + "." + strconv.FormatUint(seq, 10)
}
