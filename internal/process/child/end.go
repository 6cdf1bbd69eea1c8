package child

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

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

// heed makes the end of ctx a drain, or the [Stop] that is its cause. The function
// that it returns ends that.
func (p *Process) heed(ctx context.Context) func() bool {
	return context.AfterFunc(ctx, func() {
		why, ok := errors.AsType[*Stop](context.Cause(ctx))
		if !ok {
			why = &Stop{Class: bezoar.Interrupted, Why: "drained"}
		}
		p.Kill(why.Class, why.Why)
	})
}

// conclude judges the dead and gives its place to the next.
func (p *Process) conclude(ctx context.Context, oom int64, lost error) {
	d := death{
		status: p.status, lost: lost, asked: p.asked, oomKills: oom, cpu: p.cpu,
		memory: p.slot.memory, cpuLimit: p.r.cfg.CPU, command: p.command,
		stderr: p.slot.stderr.Bytes(),
	}
	if d.stoppedByOther() {
		d.drained = p.drainFollows(ctx)
	}
	if p.rows != nil {
		p.rows.end()
	}
	d.report, d.reportErr = parseSaid(p.said.b)
	p.result = judge(d)
	p.result.Elapsed, p.result.MaxRSS = p.ended.Sub(p.began), p.rss
	if p.left != nil {
		p.family.Session = 0 // its leader is collected: the number may be another's
		p.result.Left = &Left{p.family, p.left}
	}
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
	// The leader is not collected yet, so that it counts. If one counts, that is the
	// leader, and nobody else is in the cell. A leader that is root may have left the
	// cell; its orphans come to us all the same.
	lone := cell != nil && cell.Counted() == 1
	if cell != nil && !lone {
		if empty, err := cell.Empty(); err != nil || !empty {
			if err := cell.Kill(); err != nil {
				p.slot.spoilt, p.left = true, err
				log.Warn("cannot kill what a job left running", "job", p.name, "why", err)
			}
		}
	}
	// With the death of each its children come to us, so that in the end all
	// have.
	if n, err := proc.EndAdopted(p.family, stuckFor); err != nil {
		p.slot.spoilt, p.left = true, err
		log.Warn("cannot kill what a job left running", "job", p.name, "why", err)
	} else if n > 0 {
		log.Debug("killed what a job left running", "job", p.name, "processes", n)
	}
	if cell == nil {
		return 0
	}
	kills, err := cell.OOMKills()
	if err != nil {
		log.Warn("cannot tell kills for lack of memory from others", "job", p.name, "why", err)
	}
	if p.slot.memory > 0 && cell.Held() > p.slot.memory/spoiltShare || !lone && cell.Counted() > 1 {
		p.slot.spoilt = true // only the leader should count
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
		if held <= p.slot.memory {
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
