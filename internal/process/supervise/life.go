package supervise

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/process/cgroup"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// drainOutput is how long to wait for the rest of the output after a death. A process that left the group may keep the pipe
// open for ever.
const drainOutput = 250 * time.Millisecond

// orphanPatience is how long to wait for the deaths of the processes that a dead one left: a process may be stuck in the
// kernel.
const orphanPatience = time.Second

// life is one process of one worker, from start to burial.
type life struct {
	worker string
	mark   string // in the environment of every process that it starts
	addr   string
	port   int
	pid    int
	born   uint64 // in the kernel's ticks; 0: unknown
	began  time.Time
	cmd    *exec.Cmd
	cfg    atomic.Pointer[Config] // see Supervisor.settingsFor
	group  *cgroup.Group          // nil without a limit
	tail   tail
	pipes  [2]*os.File   // our ends of stdout and stderr
	pumped chan struct{} // closed when both have been read to the end

	announced atomic.Bool // its last health check failed with an answer

	killed chan struct{} // closed when SIGKILL has been sent
	exited chan struct{} // closed when the process is dead
	gone   chan struct{} // closed when its end has been reported
	buried chan struct{} // closed when no process of it is left
	end    fleet.End     // valid once gone is closed

	stint  atomic.Pointer[stint] // the newest; never nil
	failed bool                  // a restart has counted its end; owned by its slot's goroutine

	mu      sync.Mutex // guards the fields below
	asked   ask
	why     string
	opening bool // Registry.Up has been or is being called
	reaped  bool // its id may be reused: send no more signals
	over    bool // it must not be opened any more
}

// stint is a time during which a life is up in the registry.
type stint struct {
	opened chan struct{} // closed when epoch is known, or will never be
	epoch  uint64        // valid once opened is closed; 0: it never was up
}

func newStint() *stint { return &stint{opened: make(chan struct{})} }

// epoch returns the epoch of the newest stint, which has been opened.
func (l *life) epoch() uint64 { return l.stint.Load().epoch }

// launch starts life n of a worker with cfg.
func (s *Supervisor) launch(worker string, n int, cfg *Config) (*life, error) {
	port, err := s.ports.take()
	if err != nil {
		return nil, err
	}
	l := &life{
		worker: worker,
		mark:   proc.Self().Prefix() + worker + "." + strconv.Itoa(n) + "." + rand.Text()[:8],
		addr:   net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		port:   port,
		began:  time.Now(),
		pumped: make(chan struct{}),
		killed: make(chan struct{}),
		exited: make(chan struct{}),
		gone:   make(chan struct{}),
		buried: make(chan struct{}),
	}
	l.stint.Store(newStint())
	l.cfg.Store(cfg)
	if err := s.fork(l); err != nil {
		s.ports.give(port)
		return nil, fmt.Errorf("start worker %s: %w", worker, err)
	}
	l.pid = l.cmd.Process.Pid
	l.born, _ = proc.Born(l.pid)
	s.listen(l)
	if l.group == nil && cfg.Memory > 0 {
		s.lives.Go(func() { s.memory.guard(l, cfg.Memory) })
	}
	s.lives.Go(func() { s.attend(l) })
	return l, nil
}

// fork starts the process, in a memory group if possible.
func (s *Supervisor) fork(l *life) error {
	var ends [2]*os.File // the child's ends
	for i := range ends {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(l.pipes, ends)
			return err
		}
		l.pipes[i], ends[i] = r, w
	}
	user, err := proc.FindUser(l.cfg.Load().User)
	if err == nil {
		err = errors.Join(user.Give(ends[0]), user.Give(ends[1]))
	}
	if err != nil {
		closeAll(l.pipes, ends)
		return err
	}
	l.cmd = s.command(l, user, ends)
	limit := l.cfg.Load().Memory
	if l.group = s.memory.group(l.mark, limit); l.group != nil {
		s.forker.Do(func() { err = l.group.Start(l.cmd) })
		if err != nil {
			_ = l.group.Remove() // it is empty
			l.group, l.cmd = nil, s.command(l, user, ends)
			failed := err
			if s.forker.Do(func() { err = l.cmd.Start() }); err == nil {
				s.memory.fallBack(limit, failed)
			}
		}
	} else {
		s.forker.Do(func() { err = l.cmd.Start() })
	}
	if err != nil {
		closeAll(l.pipes, ends)
		return err
	}
	closeAll(ends)
	return nil
}

func closeAll(files ...[2]*os.File) {
	for _, pair := range files {
		for _, f := range pair {
			if f != nil {
				_ = f.Close()
			}
		}
	}
}

func (s *Supervisor) command(l *life, user *proc.User, ends [2]*os.File) *exec.Cmd {
	cfg := l.cfg.Load()
	args := arguments(cfg.Command, l.port)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = cfg.Dir
	cmd.Env = environ(*cfg, user, l.worker, l.mark, l.port)
	cmd.Stdout, cmd.Stderr = ends[0], ends[1]
	cmd.SysProcAttr = user.Become(proc.DieWithThread(proc.OwnGroup()))
	return cmd
}

// listen reads a life's output until no process can write any more.
func (s *Supervisor) listen(l *life) {
	var wg sync.WaitGroup
	for i, stream := range []Stream{Stdout, Stderr} {
		wg.Go(func() {
			pump(l.pipes[i], func(line []byte) {
				line = s.known.Hide(line)
				if stream == Stderr {
					l.tail.add(line)
				}
				s.output(l.worker, stream, line)
			})
			_ = l.pipes[i].Close() // later writers get SIGPIPE
		})
	}
	go func() { wg.Wait(); close(l.pumped) }()
}

// attend waits for a life's end, reads the rest of its output, reports the end and buries the life.
func (s *Supervisor) attend(l *life) {
	defer close(l.buried)
	_ = proc.Reap(l.pid, func() { s.end(l) }, l.cmd.Wait) // its error repeats the state
	ws := proc.Status(l.cmd.ProcessState)
	at := time.Now()
	oom := proc.FatalSignal(ws) == syscall.SIGKILL && s.memory.struck(l.group)
	l.drain()
	l.finish(s.reg, death{
		status: ws, announced: l.announced.Load(), oomKill: oom, memory: l.cfg.Load().Memory,
		stderr: l.tail.lines(), at: at,
	})
	s.bury(l)
}

// end kills the processes that a dead leader left in its group, before the group's number can be reused. Orphans are
// reparented to us if we are process 1 of a container.
func (s *Supervisor) end(l *life) {
	l.awaitGroup()
	l.mu.Lock()
	_ = proc.SignalGroup(l.pid, syscall.SIGKILL)
	if l.group != nil {
		l.group.Kill()
	}
	l.reaped = true
	close(l.exited)
	l.mu.Unlock()
	if _, err := proc.EndAdopted(proc.Family{Group: l.pid}, orphanPatience); err != nil {
		s.log.Warn("cannot kill what a worker left running", "worker", l.worker, "why", err)
	}
}

// awaitGroup gives the rest of the group its grace: the process that got the signal may be a shell, which ends at once, in
// front of a server that has work to finish. What it leaves in other groups, as setsid and su do, gets the signal
// then, and the rest of the grace.
func (l *life) awaitGroup() {
	l.mu.Lock()
	stopping := l.asked == toStop
	l.mu.Unlock()
	if !stopping {
		return
	}
	var outside map[int]uint64
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		if !proc.GroupAlive(l.pid) {
			if outside == nil {
				outside = proc.Ask(l.made)
			}
			maps.DeleteFunc(outside, func(pid int, born uint64) bool {
				now, ok := proc.Alive(pid)
				return !ok || now != born
			})
			if len(outside) == 0 {
				return
			}
		}
		select {
		case <-l.killed: // the grace has passed
			return
		case <-time.After(wait):
		}
	}
}

// drain reads the rest of a dead process's output, for a bounded time.
func (l *life) drain() {
	select {
	case <-l.pumped:
	case <-time.After(drainOutput):
		for _, p := range l.pipes {
			_ = p.SetReadDeadline(time.Unix(1, 0))
		}
	}
}

// made reports whether a process is of this life, by its environment.
func (l *life) made(pid int) bool {
	born, ok := proc.Born(pid)
	return ok && born >= l.born && proc.Family{Variable: envLife + "=" + l.mark}.Has(pid)
}

// bury removes what a life has left.
func (s *Supervisor) bury(l *life) {
	n, err := proc.Sweep(l.made)
	if n > 0 || err != nil {
		s.log.Warn("killed what a dead worker left running", "worker", l.worker, "processes", n, "error", err)
	}
	if l.group != nil {
		if err := l.group.Remove(); err != nil {
			s.log.Warn("a memory group cannot be removed", "worker", l.worker, "why", err)
		}
	}
	s.ports.give(l.port)
}

// open reports a life to the registry as up, unless it has died meanwhile. It may do so again after the registry knows the
// end of the stint before.
func (l *life) open(reg Registry) bool {
	l.mu.Lock()
	st := l.stint.Load()
	if l.opening {
		st = newStint()
	}
	defer close(st.opened)
	if l.over {
		l.mu.Unlock()
		return false
	}
	l.stint.Store(st)
	l.opening = true
	l.mu.Unlock()
	st.epoch = reg.Up(l.worker, l.addr)
	return true
}

// finish reports a life's end.
func (l *life) finish(reg Registry, d death) {
	l.mu.Lock()
	l.over = true
	d.ready, d.asked, d.why = l.opening, l.asked, l.why
	l.mu.Unlock()
	l.end = judge(d)
	if d.ready {
		st := l.stint.Load()
		<-st.opened
		reg.Down(l.worker, st.epoch, l.end)
	}
	close(l.gone)
}

// stop ends a life as planned: TERM, grace, KILL. It returns after the end was reported.
func (l *life) stop(why string, grace time.Duration) {
	l.signal(toStop, why, syscall.SIGTERM)
	select {
	case <-l.gone:
		return
	case <-time.After(grace):
	}
	l.signal(toStop, fmt.Sprintf("%s, and it ignored SIGTERM for %v", why, grace), syscall.SIGKILL)
	<-l.gone
}

// kill ends a life that hangs.
func (l *life) kill(why string) { l.signal(toBeShort, why, syscall.SIGKILL) }

// signal signals the whole group while it exists. The first request decides how the end is classified, except that stopping
// may add to it.
func (l *life) signal(a ask, why string, sig syscall.Signal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reaped {
		return
	}
	if l.asked == nothing || l.asked == a {
		l.asked, l.why = a, why
	}
	_ = proc.SignalGroup(l.pid, sig)
	if sig == syscall.SIGKILL {
		select {
		case <-l.killed:
		default:
			close(l.killed)
		}
	}
}
