package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// EndAdopted kills and reaps those of our children that match family and that we did not start: orphans that were
// reparented to us, as their subreaper or as process 1 of a container. When such a process dies, its own children are
// reparented to us as well, so EndAdopted repeats until there are none. It gives up after patience: a process may be stuck
// in the kernel. It returns how many it found alive.
func EndAdopted(family Family, patience time.Duration) (int, error) {
	deadline := time.Now().Add(patience)
	killed := 0
	for {
		pids, err := adopted()
		if err != nil {
			return killed, fmt.Errorf("list our children: %w", err)
		}
		var alive []int
		found := false
		for _, pid := range pids {
			// The code that started a leader reaps it.
			if pid == family.Session || pid == family.Group || !family.Has(pid) {
				continue
			}
			found = true
			// No other code reaps it, so its id cannot be reused.
			if !collect(pid) {
				_ = unix.Kill(pid, unix.SIGKILL)
				alive = append(alive, pid)
			}
		}
		if !found {
			return killed, nil
		}
		killed += len(alive)
		if len(alive) > 0 && family.Tag != 0 {
			killTagged(family.Tag, deadline)
		}
		for _, pid := range alive {
			if !endsBy(pid, deadline) {
				return killed, fmt.Errorf("process %d is still alive after SIGKILL", pid)
			}
		}
		if time.Now().After(deadline) {
			return killed, fmt.Errorf("%d processes killed within %v, and there are more", killed, patience)
		}
	}
}

// killTagged kills every live process that has a tag, whoever its parent is, and does not wait: the processes may fork
// faster than it could wait for each. A process that got the signal starts no more children, though it may take a while to
// die.
func killTagged(b Tag, deadline time.Time) {
	killed := map[int]bool{}
	for time.Now().Before(deadline) {
		pids, err := all()
		if err != nil {
			return
		}
		found := false
		for _, pid := range pids {
			if TagOf(pid) != b {
				continue
			}
			if fd, err := unix.PidfdOpen(pid, 0); err == nil {
				if TagOf(pid) == b && !Dying(pid) && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil {
					found = found || !killed[pid]
					killed[pid] = true
				}
				_ = unix.Close(fd)
			}
		}
		if !found {
			return
		}
	}
}

// Dying reports whether a process has ended or is ending in the kernel.
func Dying(pid int) bool {
	s, ok := statOf(pid)
	return !ok || s.state == 'Z' || s.state == 'X' || s.flags&flagExiting != 0
}

// dead reports whether a process is dead, and reaps it if it is our child.
func dead(pid int) bool {
	s, ok := statOf(pid)
	if ok && s.state != 'Z' && s.state != 'X' {
		return false
	}
	if ok && s.parent == os.Getpid() {
		collect(pid)
	}
	return true
}

// collect reaps a child if it is dead. It reports whether the child is gone.
func collect(pid int) bool {
	got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
	return got == pid || errors.Is(err, unix.ECHILD)
}

// endsBy waits for the death of our child and reaps it.
func endsBy(pid int, deadline time.Time) bool {
	if collect(pid) {
		return true
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return collect(pid)
	}
	defer func() { _ = unix.Close(fd) }()
	waitFor(fd, deadline)
	return collect(pid)
}

// waitFor waits until a process is dead.
func waitFor(pidfd int, deadline time.Time) bool {
	for {
		left := max(0, time.Until(deadline))
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		if n > 0 {
			return true
		}
		if err != nil && !errors.Is(err, unix.EINTR) || left == 0 {
			return false
		}
	}
}

// adopted returns the children of our first thread, including those that it forked. The kernel reparents orphans to it.
func adopted() ([]int, error) {
	b, err := readSmall("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children")
	if err != nil {
		return adoptedByTable()
	}
	var pids []int
	for f := range bytes.FieldsSeq(b) {
		if pid, err := strconv.Atoi(string(f)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// readSmall is [os.ReadFile] with a third of the system calls, for files that the poller cannot wait for.
func readSmall(name string) (content []byte, err error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	var buf [512]byte
	for {
		n, err := unix.Read(fd, buf[:])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, err
		case n <= 0:
			return content, nil
		default:
			content = append(content, buf[:n]...)
		}
	}
}

// adoptedByTable finds the children in the table of all processes, for kernels that do not list children.
func adoptedByTable() ([]int, error) {
	pids, err := all()
	if err != nil {
		return nil, err
	}
	ours := pids[:0]
	for _, pid := range pids {
		if s, ok := statOf(pid); ok && s.parent == os.Getpid() {
			ours = append(ours, pid)
		}
	}
	return ours, nil
}

// The bounds of Sweep.
const (
	sweepFor   = 5 * time.Second
	sweepBatch = 64 // handles open at once
)

// Sweep kills every process except ours for which match returns true, and repeats until there is none. It calls match twice
// per process. The second time the process is held by a handle, so its id cannot be reused unnoticed. It returns how many
// it killed, after their death.
func Sweep(match func(pid int) bool) (int, error) {
	deadline := time.Now().Add(sweepFor)
	killed := 0
	for {
		pids, err := all()
		if err != nil {
			return killed, fmt.Errorf("list processes: %w", err)
		}
		found := pids[:0]
		for _, pid := range pids {
			if match(pid) && !dead(pid) {
				found = append(found, pid)
			}
		}
		n := 0
		for len(found) > 0 {
			batch := found[:min(len(found), sweepBatch)]
			found = found[len(batch):]
			n += killPinned(batch, match, deadline)
		}
		killed += n
		if n == 0 {
			return killed, nil
		}
		if time.Now().After(deadline) {
			return killed, fmt.Errorf("%d processes killed within %v, and there are more", killed, sweepFor)
		}
	}
}

// Ask sends SIGTERM to every process except ours for which match returns true, and returns when each of them was born. It
// calls match twice, as Sweep does.
func Ask(match func(pid int) bool) map[int]uint64 {
	asked := map[int]uint64{}
	pids, err := all()
	if err != nil {
		return asked
	}
	for _, pid := range pids {
		if !match(pid) {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if born, ok := Alive(pid); ok && match(pid) && unix.PidfdSendSignal(fd, unix.SIGTERM, nil, 0) == nil {
			asked[pid] = born
		}
		_ = unix.Close(fd)
	}
	return asked
}

// killPinned kills the processes that still match once they are held, and waits for their deaths.
func killPinned(pids []int, match func(pid int) bool, deadline time.Time) int {
	type held struct{ pid, fd int }
	var dying []held
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if match(pid) && !dead(pid) && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil {
			dying = append(dying, held{pid, fd})
			continue
		}
		_ = unix.Close(fd)
	}
	for _, h := range dying {
		if waitFor(h.fd, deadline) {
			collect(h.pid) // if it is our child
		}
		_ = unix.Close(h.fd)
	}
	return len(dying)
}

// Reaper reaps dead orphans that were reparented to us and belong to no known job, because they left their session before
// they were tagged. Its zero value is ready to use.
type Reaper struct{ seen map[int]uint64 } // start times of the dead processes of the last round

// Round reaps the processes that were already dead in the last round. Rounds must be far enough apart that the code that
// started a process can reap it itself. Processes in our session are never reaped here. spare reports whether a process is
// known and must be left. Round returns how many it reaped.
func (u *Reaper) Round(spare func(pid int) bool) int {
	pids, err := adopted()
	if err != nil {
		return 0
	}
	session, err := unix.Getsid(0)
	if err != nil {
		return 0
	}
	dead, n := map[int]uint64{}, 0
	for _, pid := range pids {
		s, ok := statOf(pid)
		if !ok || s.state != 'Z' || s.session == session || spare(pid) {
			continue
		}
		if born, again := u.seen[pid]; again && born == s.born && collect(pid) {
			n++
			continue
		}
		dead[pid] = s.born
	}
	u.seen = dead
	return n
}
