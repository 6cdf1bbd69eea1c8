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

// EndAdopted kills and collects those of our children that are family and that we
// did not start: orphans that came to us as their subreaper or as the first
// process of a container. With the death of each, its children come too, so it
// looks until there are none. It gives up after patience: a process may be stuck
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
			// A leader is for its starter to collect.
			if pid == family.Session || pid == family.Group || !family.Has(pid) {
				continue
			}
			found = true
			// Nobody else collects it, so its id stays its.
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
				return killed, fmt.Errorf("process %d does not die of SIGKILL", pid)
			}
		}
		if time.Now().After(deadline) {
			return killed, fmt.Errorf("%d processes killed within %v, and there are more", killed, patience)
		}
	}
}

// killTagged kills everything alive that has a tag, whoever its parent is,
// and waits for nothing: what is left behind may be forking faster than one by
// one could be waited for. Who has got the signal has no more children, though it
// may take a while to die.
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

// Dying reports whether a process has ended or is about to: whatever it still has to do is
// the kernel's.
func Dying(pid int) bool {
	s, ok := statOf(pid)
	return !ok || s.state == 'Z' || s.state == 'X' || s.flags&flagExiting != 0
}

// dead reports whether a process is one in name only, and buries it if that is
// for us to do.
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

// collect reaps a child if it is dead. It reports whether it is no more.
func collect(pid int) bool {
	got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
	return got == pid || errors.Is(err, unix.ECHILD)
}

// endsBy waits for the death of a child of ours and collects it.
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

// adopted returns the children of our first thread, to which the kernel gives
// orphans. Those that it has forked itself are among them.
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

// readSmall is [os.ReadFile] without what is of use for files that can be waited
// for: a third of its calls.
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

// adoptedByTable looks at every process there is: the kernel does not list
// children.
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
	sweepBatch = 64 // handles that are open at once
)

// Sweep kills every process but ours that match says it may, wherever it is, and
// looks again until there is none. match is asked twice, the second time when
// the process is held by a handle and its id can no longer pass to another
// unnoticed. It returns how many it killed, when they are dead.
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

// killPinned kills what still matches once it is held, and waits for the deaths.
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
			collect(h.pid) // if it is ours
		}
		_ = unix.Close(h.fd)
	}
	return len(dying)
}

// Reaper collects orphans that came to us dead and cannot be told whose they
// were, because they left their session before they were tagged. Its zero value
// is ready.
type Reaper struct{ seen map[int]uint64 } // when the dead of the last round were born

// Round collects the dead of the last round that still lie there. Rounds must be
// far enough apart for whoever may have started one of them to collect it, and
// those who stay in our session are left to their starters for ever. spare is
// asked whether a process is known. It returns how many it collected.
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
