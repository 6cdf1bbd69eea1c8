package procstat

import (
	"errors"
	"fmt"
	"time"
)

// ErrUnsupported means that this system does not provide the number. It is also an [errors.ErrUnsupported].
var ErrUnsupported = fmt.Errorf("procstat: %w", errors.ErrUnsupported)

// ErrGone means that there is no such process, or that it is a zombie.
var ErrGone = errors.New("procstat: no such process")

// Unknown is the value of a number that the kernel did not provide.
const Unknown = -1

// Process is the state of one process at one moment.
type Process struct {
	PID     int
	RSS     int64         // bytes of resident memory
	Threads int           //
	FDs     int           // open file descriptors; Unknown without permission
	FDLimit int64         // soft limit of file descriptors; 0 for no limit, Unknown without permission
	CPU     time.Duration // processor time of all threads since its start; in steps of 10 ms
	Started time.Time     // wall-clock time, so it changes when the clock is set
	Birth   uint64        // start in ticks since boot: together with PID it is unique until the next boot
}

// FDShare returns the share of its file descriptors that a process has open. It reports false if that is unknown.
func (v Process) FDShare() (float64, bool) {
	if v.FDs < 0 || v.FDLimit <= 0 {
		return 0, false
	}
	return float64(v.FDs) / float64(v.FDLimit), true
}

// PSI is the pressure: how long tasks waited for a resource.
type PSI struct{ CPU, Memory, IO Stall }

// Stall is the pressure on one resource: some tasks waited (Some), or all of them at once (Full). Full is 0 for the
// processor of the whole machine, where it has no meaning.
type Stall struct{ Some, Full Line }

// Line holds the time that tasks waited.
type Line struct {
	Avg10, Avg60, Avg300 float64       // share of the last 10, 60 and 300 s, from 0 to 1
	Total                time.Duration // since boot, or since the group was created
}

// Space is the space on a path's file system.
type Space struct {
	Total, Free, Available int64 // bytes; Available for us, Free for the administrator
	Inodes, FreeInodes     int64 // both 0 if there is no such limit
}

// Used returns the used share of our space, like df: of bytes or of inodes, whichever is larger.
func (s Space) Used() float64 {
	used := share(s.Total-s.Free, s.Total-s.Free+s.Available)
	return max(used, share(s.Inodes-s.FreeInodes, s.Inodes))
}

// Mem is the memory of the machine and of this process's groups.
type Mem struct {
	Total, Available int64    // bytes; Available without swapping
	Group            GroupMem // the group with the highest used share of its limit; zero if none has a limit
}

// Used returns the used share of the machine's memory or of the group's limit, whichever is larger.
func (m Mem) Used() float64 {
	return max(share(m.Total-m.Available, m.Total), m.Group.Share())
}

// GroupMem is the memory of a control group with a limit.
type GroupMem struct {
	Limit int64 // bytes; 0 for no limit
	Used  int64 // without the file cache that the kernel can drop at once
}

// Share returns the used share of the limit; 0 without a limit.
func (g GroupMem) Share() float64 { return share(g.Used, g.Limit) }

// share returns part of whole, from 0 to 1, and 0 if whole is 0.
func share(part, whole int64) float64 {
	if whole <= 0 || part <= 0 {
		return 0
	}
	return min(1, float64(part)/float64(whole))
}
