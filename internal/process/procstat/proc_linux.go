package procstat

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// maxFile is the most bytes read of one kernel file. All fields that we need come before it.
const maxFile = 16 << 10

// Self returns the statistics of this process.
func Self() (Process, error) { return Of(os.Getpid()) }

// Of returns the statistics of a process. The error is [ErrGone] if there is none. If /proc hides other users' processes,
// they seem gone.
func Of(pid int) (Process, error) {
	v, err := of(pid)
	if err != nil {
		return Process{}, fmt.Errorf("statistics of process %d: %w", pid, err)
	}
	return v, nil
}

func of(pid int) (Process, error) {
	if pid <= 0 {
		return Process{}, ErrGone
	}
	var buf [maxFile]byte
	proc := "/proc/" + strconv.Itoa(pid)
	text, err := read(proc+"/stat", buf[:])
	if err != nil {
		return Process{}, gone(err)
	}
	s, err := parseStat(text)
	if err != nil {
		return Process{}, err
	}
	if s.dead() {
		return Process{}, ErrGone
	}
	v := Process{
		PID: pid, RSS: s.rssPages * int64(os.Getpagesize()), Threads: s.threads,
		CPU: s.cpu, Birth: s.birth, Started: startedAt(s.birth, time.Now()),
	}
	if v.FDs, err = countFDs(proc+"/fd", pid == os.Getpid()); err != nil {
		return Process{}, err
	}
	if v.FDLimit, err = fdLimit(proc+"/limits", buf[:]); err != nil {
		return Process{}, err
	}
	return v, nil
}

// startedAt converts ticks since boot into a time.
func startedAt(birth uint64, now time.Time) time.Time {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return time.Time{}
	}
	const century = uint64(100 * 365 * 24 * time.Hour / tick)
	age := time.Duration(ts.Nano()) - time.Duration(min(birth, century))*tick
	return now.Add(-max(0, age)).Round(0)
}

// countFDs returns how many descriptors a process has open. Since Linux 6.2 this is the directory's size; on older kernels
// it counts the names.
func countFDs(dir string, self bool) (int, error) {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return notOurs(gone(err))
	}
	if st.Size > 0 {
		// The directory may belong to another user: then the number is not readable.
		if err := unix.Access(dir, unix.R_OK|unix.X_OK); err != nil {
			return notOurs(gone(err))
		}
		return int(st.Size), nil
	}
	return countNames(dir, self)
}

// countNames counts the entries of a directory of descriptors, without the descriptor of the directory itself.
func countNames(dir string, self bool) (int, error) {
	f, err := os.Open(dir)
	if err != nil {
		return notOurs(gone(err))
	}
	defer f.Close()
	n := 0
	if self {
		n-- // f
	}
	for {
		names, err := f.Readdirnames(1024)
		n += len(names)
		if errors.Is(err, io.EOF) || err == nil && len(names) == 0 {
			return n, nil
		}
		if err != nil {
			return notOurs(gone(err))
		}
	}
}

// fdLimit returns how many descriptors a process may open.
func fdLimit(file string, buf []byte) (int64, error) {
	text, err := read(file, buf)
	if err != nil {
		n, err := notOurs(gone(err))
		return int64(n), err
	}
	return parseLimits(text)
}

// notOurs returns Unknown if the error is a missing permission.
func notOurs(err error) (int, error) {
	if errors.Is(err, fs.ErrPermission) {
		return Unknown, nil
	}
	return 0, err
}

// gone returns ErrGone for the errors of reading files of a dead process.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return ErrGone
	}
	return err
}

// read reads a kernel file into buf, up to its size, and drops an incomplete last line.
func read(name string, buf []byte) ([]byte, error) {
	fd, err := retry(func() (int, error) { return unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0) })
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	defer func() { _ = unix.Close(fd) }()
	n := 0
	for n < len(buf) {
		got, err := retry(func() (int, error) { return unix.Read(fd, buf[n:]) })
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if got <= 0 {
			return buf[:n], nil
		}
		n += got
	}
	for n > 0 && buf[n-1] != '\n' {
		n--
	}
	return buf[:n], nil
}

// retry repeats a call that a signal has interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
