package guardian

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bezoar-dev/bezoar/internal/process/cgroup"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// Watch guards jobs whose owner must regularly renew its lease on them.
type Watch struct {
	pipe  *os.File
	cmd   *exec.Cmd
	ended chan struct{}
}

// Jobs identifies the jobs that a [Watch] guards.
type Jobs struct {
	Mark  string // in their environment and tags
	Cells string // prefix of their memory groups' names; "": they have none
}

// StartWatch starts a guardian of this process's jobs. It kills nothing before the first [Watch.Beat].
func StartWatch(log *slog.Logger, jobs Jobs) (*Watch, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	owner := proc.Self()
	cmd := exec.Command(self, strconv.Itoa(owner.PID), strconv.FormatUint(owner.Born, 10), jobs.Mark, jobs.Cells)
	cmd.Args = append([]string{os.Args[0], Argument}, cmd.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr, cmd.SysProcAttr = "/", []string{}, theirs, os.Stderr, proc.OwnSession()
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	w := &Watch{pipe: ours, cmd: cmd, ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		if err := cmd.Wait(); err != nil {
			log.Warn("the guardian of a node's jobs has ended: if this process is suspended for longer than its lease, its jobs keep running in parallel with their next attempts", "end", err)
		}
	}()
	return w, nil
}

// A message of the owner is one byte and a duration.
const (
	sayBeat = 'b'
	sayEnd  = 'e'
	sayLen  = 9
)

// Beat renews the lease until a time. Without another Beat until then, the guardian kills the jobs.
func (w *Watch) Beat(until time.Time) error {
	var b [sayLen]byte
	b[0] = sayBeat
	binary.LittleEndian.PutUint64(b[1:], uint64(max(0, time.Until(until))))
	_ = w.pipe.SetWriteDeadline(time.Now().Add(time.Second))
	if _, err := w.pipe.Write(b[:]); err != nil {
		return fmt.Errorf("tell the guardian of the lease: %w", err)
	}
	return nil
}

// Stop ends the guardian. All jobs must have ended.
func (w *Watch) Stop() {
	_ = w.pipe.SetWriteDeadline(time.Now().Add(time.Second))
	_, err := w.pipe.Write(append([]byte{sayEnd}, make([]byte, sayLen-1)...))
	_ = w.pipe.Close()
	if err != nil {
		_ = w.cmd.Process.Kill()
	}
	<-w.ended
}

// watch guards jobs until their owner says that it stops, or dies.
func watch(owner proc.Owner, jobs Jobs) {
	var until time.Duration // since the machine's start; 0: no lease yet
	for {
		wait := time.Second // a suspension of the machine is noticed within this time
		if until > 0 {
			wait = min(wait, max(0, until-sinceBoot()))
		}
		ready := []unix.PollFd{{Fd: 0, Events: unix.POLLIN}}
		n, err := unix.Poll(ready, int((wait+time.Millisecond-1)/time.Millisecond))
		if n > 0 && err == nil {
			var b [sayLen]byte
			if k, err := os.Stdin.Read(b[:]); err != nil || k < sayLen { // the owner died without a goodbye
				owner.Await()
				report(owner, "was killed", func() (int, error) { return Sweep(owner) })
				return
			}
			if b[0] == sayEnd {
				return
			}
			until = sinceBoot() + time.Duration(binary.LittleEndian.Uint64(b[1:]))
			continue
		}
		if until > 0 && sinceBoot() >= until {
			report(owner, "did not renew its lease", func() (int, error) { return end(owner, jobs) })
			until = sinceBoot() + time.Second // the owner may start more jobs before it notices
		}
	}
}

// patience is how long to wait for killed processes of a memory group to die.
const patience = 5 * time.Second

// end kills jobs whose owner may still be alive.
func end(owner proc.Owner, jobs Jobs) (n int, err error) {
	for _, l := range cgroup.Leftovers(jobs.Cells) {
		if jobs.Cells == "" || l.Owner != owner.PID {
			continue
		}
		killed := map[int]bool{}
		late := time.Now().Add(patience)
		for {
			alive := 0
			for _, pid := range l.Kill() {
				if _, ok := proc.Alive(pid); ok {
					alive++
					killed[pid] = true
				}
			}
			if alive == 0 {
				break
			}
			if time.Now().After(late) {
				err = errors.Join(err, fmt.Errorf("%d processes are still alive after SIGKILL", alive))
				break
			}
			time.Sleep(time.Millisecond)
		}
		n += len(killed)
	}
	more, failed := owner.End(jobs.Mark)
	return n + more, errors.Join(err, failed)
}

// report writes how many processes were killed, and the reason, to stderr.
func report(owner proc.Owner, why string, sweep func() (int, error)) {
	n, err := sweep()
	if n > 0 {
		fmt.Fprintf(os.Stderr, "bezoar: process %d %s; %d processes of its jobs were ended\n", owner.PID, why, n)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bezoar: process %d %s; not all processes of its jobs could be ended: %s\n", owner.PID, why, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// sinceBoot returns the time since the machine's start, including time suspended.
func sinceBoot() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
