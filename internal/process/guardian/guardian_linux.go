package guardian

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/bezoar-dev/bezoar/internal/process/cgroup"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// Argument is the first argument of a guardian.
const Argument = "(guardian)"

// variables name the owner of a process.
var variables = [...]string{proc.EnvOwner, proc.EnvLife}

// Run returns false at once unless this process was started as a guardian. A guardian does its work in Run, which then
// returns true: the caller must exit. A program that calls [Start] calls Run before anything else.
func Run() bool {
	if len(os.Args) < 4 || len(os.Args) > 6 || os.Args[1] != Argument {
		return false
	}
	pid, err := strconv.Atoi(os.Args[2])
	born, err2 := strconv.ParseUint(os.Args[3], 10, 64)
	if err := errors.Join(err, err2); err != nil {
		fmt.Fprintln(os.Stderr, "bezoar: guardian:", err)
		return true
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGTSTP)
	owner := proc.Owner{PID: pid, Born: born}
	if len(os.Args) == 6 {
		watch(owner, Jobs{Mark: os.Args[4], Cells: os.Args[5]})
		return true
	}
	owner.Await()
	report(owner, "was killed", func() (int, error) { return Sweep(owner) })
	return true
}

// Sweep kills processes that the jobs of a dead owner left running. It returns how many it killed.
func Sweep(owner proc.Owner) (n int, err error) {
	var errs []error
	for _, l := range cgroup.Leftovers("") {
		if l.Owner != owner.PID {
			continue
		}
		killed, err := l.Remove()
		n, errs = n+killed, append(errs, err)
	}
	killed, err := owner.Sweep(variables[:]...)
	return n + killed, errors.Join(append(errs, err)...)
}

// Start starts a guardian of this process. stop ends the guardian; the jobs must have ended before.
func Start(log *slog.Logger) (stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	owner := proc.Self()
	args := []string{os.Args[0], Argument, strconv.Itoa(owner.PID), strconv.FormatUint(owner.Born, 10)}
	files := make([]*os.File, 3, 3+others()) // a nil entry is not opened in the child
	files[0], files[1], files[2] = null, null, os.Stderr
	p, err := os.StartProcess(self, args, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: files[:cap(files)], Sys: proc.OwnSession(),
	})
	if err != nil {
		return nil, err
	}
	stopping, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		state, _ := p.Wait()
		select {
		case <-stopping:
		default:
			log.Warn("the guardian has ended: if this process is killed, processes that its jobs have started keep running until its next start", "end", state.String())
		}
	}()
	return func() {
		close(stopping)
		_ = p.Kill()
		<-ended
	}, nil
}

// others counts the descriptors above stderr that may be inherited: sockets of a service manager, or files that a shell
// left open.
func others() int {
	const most = 1 << 10
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	last := 2
	for _, f := range open {
		if n, err := strconv.Atoi(f.Name()); err == nil && n <= most {
			last = max(last, n)
		}
	}
	return last - 2
}
