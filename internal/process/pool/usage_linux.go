package pool

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// usage measures a process.
type usage struct {
	pid   int
	statm *os.File
}

func openUsage(pid int) (*usage, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return nil, err
	}
	return &usage{pid: pid, statm: f}, nil
}

func (u *usage) close() { _ = u.statm.Close() }

// memory returns the private memory of the process in bytes, 0 if unknown. Memory shared with files does not count: the
// process does not control its growth.
func (u *usage) memory() int64 {
	var b [128]byte
	n, err := u.statm.ReadAt(b[:], 0)
	if n == 0 && err != nil {
		return 0 // it is dead
	}
	fields := bytes.Fields(b[:n])
	if len(fields) < 3 {
		return 0
	}
	resident, err1 := strconv.ParseInt(string(fields[1]), 10, 64)
	shared, err2 := strconv.ParseInt(string(fields[2]), 10, 64)
	if err1 != nil || err2 != nil {
		return 0
	}
	return (resident - shared) * int64(os.Getpagesize())
}

// processor returns the processor time of all threads of the process.
func (u *usage) processor() (time.Duration, error) {
	var used unix.Timespec
	clock := int32(^u.pid<<3 | 2) // see clock_getcpuclockid(3)
	if err := unix.ClockGettime(clock, &used); err != nil {
		return 0, fmt.Errorf("read the processor time of process %d: %w", u.pid, err)
	}
	return time.Duration(used.Nano()), nil
}
