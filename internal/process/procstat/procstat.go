package procstat

import (
	"errors"
	"fmt"
	"time"
)

// ErrUnsupported says that this system does not tell what was asked for. It is
// also an [errors.ErrUnsupported].
var ErrUnsupported = fmt.Errorf("procstat: %w", errors.ErrUnsupported)

// ErrGone says that there is no such process, or that it has ended and only
// waits to be collected.
var ErrGone = errors.New("procstat: no such process")

// Unknown is a number that the kernel did not tell us.
const Unknown = -1

// Process is one process at one moment.
type Process struct {
	PID     int
	RSS     int64         // bytes of memory it has resident
	Threads int           //
	FDs     int           // open file descriptors; Unknown when we may not look
	FDLimit int64         // how many it may open, the soft limit; 0 for no limit, Unknown when we may not look
	CPU     time.Duration // processor time since its start, of all threads; in steps of 10 ms
	Started time.Time     // by the clock on the wall, so it moves when that is set
	Birth   uint64        // when it started, in ticks since boot: with PID it names one process until the next boot
}

// FDShare is which share of its file descriptors a process has open, and
// whether that is known.
func (v Process) FDShare() (float64, bool) {
	if v.FDs < 0 || v.FDLimit <= 0 {
		return 0, false
	}
	return float64(v.FDs) / float64(v.FDLimit), true
}

// PSI is pressure: for how long work has waited for a resource.
type PSI struct{ CPU, Memory, IO Stall }

// Stall is the pressure on one resource. Some of the tasks waited, or all of
// them at once (Full). Full of the processor means nothing for the machine as a
// whole, and is 0.
type Stall struct{ Some, Full Line }

// Line is how long was waited.
type Line struct {
	Avg10, Avg60, Avg300 float64       // share of the last 10, 60 and 300 s, from 0 to 1
	Total                time.Duration // since boot, or since the group was made
}

// Space is the room on the file system of a path.
type Space struct {
	Total, Free, Available int64 // bytes; Available to us, Free to the administrator
	Inodes, FreeInodes     int64 // 0 and 0 where there is no such limit
}

// Used is which share of what we may use is used, as df says: of bytes or of
// inodes, whichever is scarcer.
func (s Space) Used() float64 {
	used := share(s.Total-s.Free, s.Total-s.Free+s.Available)
	return max(used, share(s.Inodes-s.FreeInodes, s.Inodes))
}

// Mem is the memory of the machine, and of the groups that we are in.
type Mem struct {
	Total, Available int64    // bytes; Available without swapping
	Group            GroupMem // the scarcest that limits us; zero when none does
}

// Used is which share is used, of the machine's memory or of the group's limit,
// whichever is scarcer.
func (m Mem) Used() float64 {
	return max(share(m.Total-m.Available, m.Total), m.Group.Share())
}

// GroupMem is the memory of a control group with a limit.
type GroupMem struct {
	Limit int64 // bytes; 0 when there is none
	Used  int64 // without the file cache that can be dropped at once
}

// Share is which share of the limit is used; 0 without a limit.
func (g GroupMem) Share() float64 { return share(g.Used, g.Limit) }

// share is part of whole, from 0 to 1, and 0 of nothing.
func share(part, whole int64) float64 {
	if whole <= 0 || part <= 0 {
		return 0
	}
	return min(1, float64(part)/float64(whole))
}
