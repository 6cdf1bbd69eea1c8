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

// attend waits for the process's end, kills everything it left, reads the rest of its output and judges the result.
func (p *Process) attend(ctx context.Context) {
	defer close(p.done)
	drained := p.heed(ctx)
	defer drained()
	var oom int64
	err := proc.Reap(p.Pid, func() { oom = p.end() }, p.collect)
	p.drain()
	p.conclude(ctx, oom, err)
}

// heed stops the process when ctx ends: as a drain, or as the [Stop] that is ctx's cause says. The returned function ends
// that.
func (p *Process) heed(ctx context.Context) func() bool {
	return context.AfterFunc(ctx, func() {
		why, ok := errors.AsType[*Stop](context.Cause(ctx))
		if !ok {
			why = &Stop{Class: bezoar.Interrupted, Why: "drained"}
		}
		p.Kill(why.Class, why.Why)
	})
}

// conclude judges the dead process and frees its place.
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
		p.family.Session = 0 // its leader is reaped: another process may get the number
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

// end kills all processes that a dead leader left, before the leader is reaped and its number may be reused. It returns how
// many the kernel had killed for memory.
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
	// The leader is not reaped yet, so it still counts. If the count is 1, that is the leader, and the cell has no other
	// process. A leader that is root may have left the cell; its orphans are reparented to us anyway.
	p.lone = cell != nil && cell.Counted() == 1
	if cell != nil && !p.lone {
		if empty, err := cell.Empty(); err != nil || !empty {
			if err := cell.Kill(); err != nil {
				p.slot.spoilt, p.left = true, err
				log.Warn("cannot kill what a job left running", "job", p.name, "why", err)
			}
		}
	}
	// When a process dies, its children are reparented to us, so in the end we have all of them.
	if n, err := proc.EndAdopted(p.family, stuckFor); err != nil {
		p.slot.spoilt, p.left = true, err
		log.Warn("cannot kill what a job left running", "job", p.name, "why", err)
	} else if n > 0 {
		p.lone = false
		log.Debug("killed what a job left running", "job", p.name, "processes", n)
	}
	if cell == nil {
		return 0
	}
	kills, err := cell.OOMKills()
	if err != nil {
		log.Warn("cannot tell kills for lack of memory from others", "job", p.name, "why", err)
	}
	if p.slot.memory > 0 && cell.Held() > p.slot.memory/spoiltShare || !p.lone && cell.Counted() > 1 {
		p.slot.spoilt = true // only the leader should still count
	}
	return kills
}

// collect reaps the leader.
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

// drain reads the rest of the output, for a bounded time.
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

// drainFollows reports whether this process is asked to stop as well: a service manager signals every process of a service
// at once.
func (p *Process) drainFollows(ctx context.Context) bool {
	select {
	case <-ctx.Done():
	case <-p.r.closed:
	case <-time.After(dyingFor):
		return false
	}
	return true
}

// guard kills a process without a memory group that uses too much memory. A limit set on the process itself would be exact,
// but many runtimes that meet one hang, or die like in other crashes. So that limit is far higher, and only stops processes
// that grow too fast for the checks.
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
