package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bezoar-dev/bezoar/internal/process/vfork"
)

// polled is one job for which a single thread does everything: fork, feed, read and wait. Goroutines would make a short job
// half as expensive again.
type polled struct {
	p      *Process
	pidfd  int
	fds    [pipeCount]int // our ends; -1 once closed
	to     [pipeCount]io.Writer
	body   []byte // the rest of the body still to write
	given  int    // bytes of the body written so far
	unread bool   // it ended and had read none of the body
	peer   int    // the job's end of stdin, to count unread bytes; -1 once closed
	// The job's ends of its outputs; -1 once closed. While we hold them too, the job's exit wakes us once, and not once for each
	// output that it closes.
	held [pipeCount]int
}

func canPoll() bool {
	fd, err := unix.PidfdOpen(unix.Getpid(), 0)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err == nil
}

func (r *Runner) doPolled(ctx context.Context, j *Job) Result {
	p, l, err := r.newProcess(ctx, j)
	if err != nil {
		return notStarted(fmt.Errorf("start job %s: %w", j.Name, err))
	}
	none := [pipeCount]int{-1, -1, -1, -1}
	q := &polled{p: p, pidfd: -1, peer: -1, fds: none, held: none, body: j.Stdin}
	q.to[stdout], q.to[stderr], q.to[report] = &copied{&p.slot.stdout, j.Stdout}, &copied{&p.slot.stderr, j.Stderr}, p.told(j)
	defer q.close()
	var oom int64
	p.slot.thread.Do(func() { oom, err = q.run(ctx, j, l) })
	if err != nil {
		r.give(p.slot)
		return notStarted(fmt.Errorf("start job %s: %w", j.Name, err))
	}
	close(p.done)
	p.conclude(ctx, oom, p.lost)
	p.result.Unread = q.unread
	return p.result
}

// run starts the process and waits for its end. It returns how many processes the kernel had killed for memory.
func (q *polled) run(ctx context.Context, j *Job, l launch) (oom int64, err error) {
	if err := q.spawn(l); err != nil {
		return 0, err
	}
	q.p.begin(j)
	drained := q.p.heed(ctx)
	defer drained()
	q.write()
	for !q.wait(-1) {
	}
	q.letGo()
	oom = q.p.end()
	q.p.lost = q.p.collect()
	q.rest()
	return oom, nil
}

// spawn starts the process with its own pipes.
func (q *polled) spawn(l launch) error {
	p := q.p
	var theirs [pipeCount]uintptr
	for i := range pipeCount {
		if i == stdin && len(q.body) == 0 {
			null, err := p.slot.nothing()
			if err != nil {
				return err
			}
			theirs[i] = null
			continue
		}
		var ends [2]int
		if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
			return fmt.Errorf("make a pipe: %w", err)
		}
		q.fds[i], theirs[i] = ends[0], uintptr(ends[1])
		if i == stdin {
			q.fds[i], theirs[i], q.peer = ends[1], uintptr(ends[0]), ends[0]
		} else {
			q.held[i] = ends[1]
		}
		if _, err := unix.FcntlInt(uintptr(q.fds[i]), unix.F_SETFL, unix.O_NONBLOCK); err != nil {
			return fmt.Errorf("make a pipe: %w", err)
		}
	}
	if !p.r.means.vfork {
		l.hold(p)
		l.sys.PidFD = &q.pidfd
	}
	p.began = time.Now()
	var err error
	if p.r.means.vfork {
		p.Pid, q.pidfd, err = p.fork(&l, theirs)
	} else {
		p.Pid, _, err = syscall.StartProcess(l.path, p.command, &syscall.ProcAttr{
			Dir: p.dir, Env: l.env, Files: theirs[:], Sys: l.sys,
		})
	}
	if err != nil {
		p.r.paths.forget(p.command[0])
		return fmt.Errorf("%s: %w", l.path, err)
	}
	if p.r.means.vfork {
		p.family.Session = p.Pid
		return nil
	}
	return p.restrict(l)
}

// fork starts the process so that it sets its limits itself before its first instruction.
func (p *Process) fork(l *launch, files [pipeCount]uintptr) (pid, pidfd int, err error) {
	c := vfork.Child{Path: l.path, Args: p.command, Env: l.env, Dir: p.dir, Cgroup: -1}
	for i, fd := range files {
		c.Files[i] = int(fd)
	}
	if l.sys.UseCgroupFD {
		c.Cgroup = l.sys.CgroupFD
	}
	if u := l.sys.Credential; u != nil {
		c.User = &vfork.User{UID: u.Uid, GID: u.Gid, Groups: u.Groups}
	}
	add := func(what string, resource int, soft, hard uint64) {
		c.Limits = append(c.Limits, vfork.Limit{Name: what, Resource: resource, Soft: soft, Max: hard})
	}
	add("open files", unix.RLIMIT_NOFILE, p.r.means.files.Soft, p.r.means.files.Max)
	l.limits.EachOfChild(add)
	return c.Start()
}

// wait waits for the next event and handles it. It reports whether the process has ended, no process can write any more, or
// timeout (in milliseconds; below 0: none) has passed.
func (q *polled) wait(timeout int) bool {
	set := [pipeCount + 1]unix.PollFd{
		{Fd: int32(q.fds[stdin]), Events: unix.POLLOUT},
		{Fd: int32(q.fds[stdout]), Events: unix.POLLIN},
		{Fd: int32(q.fds[stderr]), Events: unix.POLLIN},
		{Fd: int32(q.fds[report]), Events: unix.POLLIN},
		{Fd: int32(q.pidfd), Events: unix.POLLIN}, // poll ignores all descriptors below 0
	}
	n, err := unix.Poll(set[:], timeout)
	if err != nil {
		return !errors.Is(err, unix.EINTR)
	}
	for i := stdout; i < pipeCount; i++ {
		if set[i].Revents != 0 {
			q.read(i)
		}
	}
	if set[stdin].Revents != 0 {
		q.write()
	}
	return n == 0 || set[pipeCount].Revents != 0
}

// read reads once from a pipe. It reports whether there may be more.
func (q *polled) read(i int) bool {
	s := q.p.slot
	if s.buf == nil {
		s.buf = make([]byte, chunk)
	}
	n, err := unix.Read(q.fds[i], s.buf)
	switch {
	case n > 0:
		_, _ = q.to[i].Write(s.buf[:n])
		return true
	case errors.Is(err, unix.EINTR):
		return true
	case errors.Is(err, unix.EAGAIN):
		return false
	}
	q.closeOne(i)
	return false
}

// write writes as much of the body as fits into the pipe. A job need not read it.
func (q *polled) write() {
	for len(q.body) > 0 {
		n, err := unix.Write(q.fds[stdin], q.body)
		switch {
		case n > 0:
			q.body, q.given = q.body[n:], q.given+n
		case errors.Is(err, unix.EAGAIN):
			return
		case !errors.Is(err, unix.EINTR):
			q.body = nil
		}
	}
	q.closeOne(stdin)
}

// rest reads the remaining output. Unless the job was proven to have no other process, rest waits a bounded time for the end
// of the pipes: a process that escaped may keep one open for ever. It does not wait otherwise: only a child of another job
// between its fork and its exec can have them open, and waiting for that took longer than all else of a short job.
func (q *polled) rest() {
	if q.peer >= 0 {
		left, err := unix.IoctlGetInt(q.peer, unix.TIOCINQ) // TIOCINQ is FIONREAD
		q.unread = err == nil && q.given > 0 && left == q.given
		q.closePeer()
	}
	q.closeOne(stdin)
	_ = unix.Close(q.pidfd)
	q.pidfd = -1
	late := time.Now().Add(drainFor)
	for left := drainFor; left > 0; left = time.Until(late) {
		more := false
		for i := stdout; i < pipeCount; i++ {
			if q.fds[i] >= 0 {
				more = q.read(i) || more
			}
		}
		if q.fds[stdout] < 0 && q.fds[stderr] < 0 && q.fds[report] < 0 {
			return
		}
		if !more && q.p.lone {
			return
		}
		if !more {
			q.wait(int(left.Milliseconds()) + 1)
		}
	}
}

func (q *polled) closeOne(i int) {
	if q.fds[i] >= 0 {
		_ = unix.Close(q.fds[i])
		q.fds[i] = -1
	}
}

// letGo closes our copies of the job's ends of its outputs.
func (q *polled) letGo() {
	for i, fd := range q.held {
		if fd >= 0 {
			_ = unix.Close(fd)
			q.held[i] = -1
		}
	}
}

func (q *polled) closePeer() {
	if q.peer >= 0 {
		_ = unix.Close(q.peer)
		q.peer = -1
	}
}

func (q *polled) close() {
	q.letGo()
	q.closePeer()
	for i := range q.fds {
		q.closeOne(i)
	}
	if q.pidfd >= 0 {
		_ = unix.Close(q.pidfd)
	}
}

// collectPolled reaps the leader.
func (p *Process) collectPolled() error {
	var ru unix.Rusage
	var ws unix.WaitStatus
	for {
		_, err := unix.Wait4(p.Pid, &ws, 0, &ru)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("wait for process %d: %w", p.Pid, err)
		}
		break
	}
	p.status = syscall.WaitStatus(ws)
	p.cpu = time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	p.rss = ru.Maxrss << 10
	return nil
}
