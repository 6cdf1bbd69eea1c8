package proc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// grace is the time between SIGTERM and SIGKILL.
const grace = 3 * time.Second

// Spec describes a process to start.
type Spec struct {
	Name  string   // in errors
	Args  []string // the program and its arguments
	Env   []string // added to the benchmark's own
	Dir   string
	Cores string       // as taskset -c takes them; "" leaves it to the kernel
	Leash *os.File     // its standard input; see [NewLeash]
	Line  func(string) // called with each line of its standard output; may be nil
}

// A Child is a running process and its group.
type Child struct {
	name string
	cmd  *exec.Cmd
	last *tail
	done chan struct{} // closed when it has ended
	err  error         // how; read after done
}

// Start starts a process.
func Start(s Spec) (*Child, error) {
	args := s.Args
	if s.Cores != "" {
		if path, err := exec.LookPath("taskset"); err == nil {
			args = append([]string{path, "-c", s.Cores}, args...)
		}
	}
	c := &Child{name: s.Name, last: new(tail), done: make(chan struct{})}
	c.cmd = exec.Command(args[0], args[1:]...)
	c.cmd.Dir, c.cmd.Stderr = s.Dir, c.last
	c.cmd.Env = append(os.Environ(), s.Env...)
	if s.Leash != nil {
		c.cmd.Stdin = s.Leash
	}
	c.cmd.WaitDelay = grace
	// The kernel sends Pdeathsig when the thread that started the process ends.
	// Threads of a Go program end with it, unless a goroutine locks one.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	var out io.ReadCloser
	if s.Line != nil {
		var err error
		if out, err = c.cmd.StdoutPipe(); err != nil {
			return nil, fmt.Errorf("start %s: %w", s.Name, err)
		}
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Name, err)
	}
	go c.reap(out, s.Line)
	return c, nil
}

func (c *Child) reap(out io.Reader, line func(string)) {
	defer close(c.done)
	if out != nil {
		for in := bufio.NewScanner(out); in.Scan(); {
			line(in.Text())
		}
	}
	c.err = c.cmd.Wait()
}

// Done is closed when the process has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err says how the process ended, with the last it wrote to its standard error.
// It is nil while the process runs.
func (c *Child) Err() error {
	select {
	case <-c.done:
	default:
		return nil
	}
	err := c.err
	if err == nil {
		err = errors.New("exit status 0")
	}
	if said := c.last.String(); said != "" {
		return fmt.Errorf("%s ended: %w\n%s", c.name, err, said)
	}
	return fmt.Errorf("%s ended: %w", c.name, err)
}

// Stop asks the whole group to end, makes it end after a grace, and returns
// when the process is gone.
func (c *Child) Stop() {
	group := -c.cmd.Process.Pid
	_ = syscall.Kill(group, syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
	}
	_ = syscall.Kill(group, syscall.SIGKILL) // what the head left behind, too
	<-c.done
}

// Kill ends the process at once, and only it, and returns when it is gone: what it
// had started is left to whoever minds that.
func (c *Child) Kill() {
	_ = c.cmd.Process.Kill()
	<-c.done
}

// A Leash is the standard input that the benchmark's own programs watch. Nobody
// ever writes to it; it ends when the benchmark does, however that happens.
type Leash struct {
	End  *os.File // for [Spec]
	hold *os.File
}

// NewLeash makes one.
func NewLeash() (*Leash, error) {
	end, hold, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a leash: %w", err)
	}
	return &Leash{End: end, hold: hold}, nil
}

// Close ends whatever watches the leash.
func (l *Leash) Close() {
	_ = l.hold.Close()
	_ = l.End.Close()
}

// tail keeps the last bytes written to it.
type tail struct {
	mu  sync.Mutex // guards buf
	buf []byte
}

const maxTail = 2 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - maxTail; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}
