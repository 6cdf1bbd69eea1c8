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
	EnvOwner  = proc.EnvOwner      // which job of which process it is
	EnvName   = "BEZOAR_JOB"       // Job.Name
	EnvReport = "BEZOAR_REPORT_FD" // the descriptor for a [Report]
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

	r       *Runner
	slot    *slot
	os      *os.Process // nil when it is polled
	family  proc.Family
	name    string
	command []string
	dir     string
	grace   time.Duration
	began   time.Time
	ended   time.Time
	status  syscall.WaitStatus // once it has ended, as the next two
	cpu     time.Duration
	rss     int64
	lost    error         // why its end is not known
	limit   time.Duration // 0 none
	pipes   pipes
	outs    [pipeCount]*outlet
	live    *live // stderr; nil from Do
	said    head
	rows    *rowLines // nil: there are none
	reads   sync.WaitGroup
	left    error  // why not all that it left could be ended
	result  Result // valid once done is closed
	done    chan struct{}

	mu    sync.Mutex // guards what follows
	dead  bool       // no more signals: its id may belong to another
	asked *stop
	timer *time.Timer // for the deadline, then for the grace
}

// Stop is a cause of a context's end that says what the end of a job will be called
// and why, as [Process.Kill] does.
type Stop struct {
	Class bezoar.Class
	Why   string
}

func (s *Stop) Error() string { return s.Why }

// stop is what we asked of a process, and why.
type stop struct {
	class  bezoar.Class
	why    string
	forced bool // SIGTERM was not enough
}

// Left is what a job has left that could not be ended.
type Left struct {
	family proc.Family
	err    error
}

func (l *Left) Error() string { return l.err.Error() }

// End tries again. When it returns nil nothing is left.
func (l *Left) End() error {
	_, err := proc.Sweep(l.family.Has)
	return err
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
	p.timer = time.AfterFunc(p.grace, p.force)
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
	return proc.Owner{PID: id.pid, Born: id.born}.Prefix() + strconv.FormatUint(seq, 10)
}
