package child

import (
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// The variables that every job gets.
const (
	EnvMark   = proc.EnvMark       // Config.Mark
	EnvOwner  = proc.EnvOwner      // identifies the process and the job
	EnvName   = "BEZOAR_JOB"       // Job.Name
	EnvReport = "BEZOAR_REPORT_FD" // the descriptor for a [Report]
	envReport = EnvReport + "=3"
)

const (
	lookEvery    = 50 * time.Millisecond  // between memory checks of a job without a group
	dataHeadroom = 512 << 20              // bytes above its limit that a job may reach between two checks
	stuckFor     = 2 * time.Second        // how long to wait for a killed process to die
	dyingFor     = 250 * time.Millisecond // between a service manager's signal to a job and the one to us
)

// Process is a started job.
type Process struct {
	Stdin  io.WriteCloser // EPIPE when the process does not read; nil from Do
	Stdout io.ReadCloser  // the caller reads it to its end, or closes it; nil from Do
	Pid    int

	r       *Runner
	slot    *slot
	os      *os.Process // nil if it is polled
	family  proc.Family
	name    string
	command []string
	dir     string
	grace   time.Duration
	began   time.Time
	ended   time.Time
	status  syscall.WaitStatus // valid once it has ended, like the next two fields
	cpu     time.Duration
	rss     int64
	lost    error         // why its end is unknown
	limit   time.Duration // 0: none
	pipes   pipes
	outs    [pipeCount]*outlet
	live    *live // stderr; nil from Do
	said    head
	rows    *rowLines // nil: none
	reads   sync.WaitGroup
	lone    bool   // it ended as the only process of its cell
	left    error  // why some process that it left could not be killed
	result  Result // valid once done is closed
	done    chan struct{}

	mu    sync.Mutex // guards the fields below
	dead  bool       // send no more signals: another process may get its id
	asked *stop
	timer *time.Timer // for the deadline, then for the grace
}

// Stop is a context's cancel cause that gives the class and reason of a job's end, as [Process.Kill] does.
type Stop struct {
	Class bezoar.Class
	Why   string
}

func (s *Stop) Error() string { return s.Why }

// stop holds our request to stop a process, and the reason.
type stop struct {
	class  bezoar.Class
	why    string
	forced bool // SIGTERM was not enough
}

// Left names processes of a job that could not be killed.
type Left struct {
	family proc.Family
	err    error
}

func (l *Left) Error() string { return l.err.Error() }

// End tries to kill them again. It returns nil when none is left.
func (l *Left) End() error {
	_, err := proc.Sweep(l.family.Has)
	return err
}

// Kill stops the process: SIGTERM to its group, then SIGKILL after the grace. It does not wait. If the job ends because of
// it, class ([bezoar.Timeout] or [bezoar.Interrupted]) is the job's class, and why is part of its Detail. Only the first
// call has an effect. It may be called from several goroutines.
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
	p.timer = time.AfterFunc(p.grace, p.force)
}

func (p *Process) overdue() { p.Kill(bezoar.Timeout, "stopped after "+p.limit.String()) }

// force kills a process that ignored SIGTERM.
func (p *Process) force() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return
	}
	p.asked.forced = true
	_ = proc.SignalGroup(p.Pid, syscall.SIGKILL) // its leader cannot leave the group
}

// CatchUp returns when Job.Stderr has received everything that a process of [Runner.Start] has written to stderr so far.
func (p *Process) CatchUp() { p.live.catchUp() }

// Wait waits until no process of the job is left and returns its result. It may be called more than once.
func (p *Process) Wait() Result {
	<-p.done
	return p.result
}

// owner returns the value that distinguishes a job from all others.
func (id identity) owner(seq uint64) string {
	return proc.Owner{PID: id.pid, Born: id.born}.Prefix() + strconv.FormatUint(seq, 10)
}
