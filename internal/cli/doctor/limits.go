package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/process/procstat"
)

// spareFiles are descriptors for stores, logs and workers' output.
const spareFiles = 64

// files compares the number of files that Bezoar may open with the requests that its fleets may have in flight: a request
// takes one for the caller and one for the worker.
func (e *examination) files(context.Context) {
	most, err := e.Machine.Files(e.pid())
	if err != nil {
		if !errors.Is(err, procstat.ErrUnsupported) {
			e.warn("files", "run bezoar doctor as the user that Bezoar runs as", "how many files Bezoar may open cannot be read: %v", err)
		}
		return
	}
	need, by := int64(spareFiles), ""
	for _, name := range e.fleets() {
		f := e.Settings.Fleets[name]
		n := inFlight(&f)
		need += 2 * n
		by += fmt.Sprintf(", %d requests of fleet %s", n, name)
	}
	switch {
	case most > 0 && most < need:
		e.warn("files", fmt.Sprintf("LimitNOFILE=%d in the unit, ulimit -n %d in a shell, or a lower max_in_flight", need, need),
			"Bezoar may open %d files; with all places taken it needs %d (2 for each request%s)", most, need, by)
	case most > 0:
		e.ok("files", "Bezoar may open %d files and needs at most %d", most, need)
	default:
		e.ok("files", "there is no bound on open files")
	}
}

// inFlight returns how many requests a fleet has at once.
func inFlight(f *config.Fleet) int64 {
	n := int64(max(f.Replicas, len(f.Workers))) * int64(f.MaxInFlight)
	if c := f.Concurrency; c != nil {
		bound := c.Limit
		bound = cmp.Or(bound, c.Max)
		n = min(n, int64(bound)) + int64(c.Streams)
	}
	return n
}

// ownMemory is the least memory for Bezoar itself, without held bodies.
const ownMemory = 64 << 20

// memory compares the limits of the workers with the memory that they may have together.
func (e *examination) memory(context.Context) {
	limit, limited, err := e.Machine.GroupMemory(e.pid())
	if err != nil {
		e.warn("memory", "run bezoar doctor as the user that Bezoar runs as", "the memory limit cannot be read: %v", err)
		return
	}
	where := "the control group allows"
	if total, err := e.Machine.Memory(); err == nil && (!limited || total < limit) {
		limit, where = total, "the machine has"
	} else if !limited {
		return // the total is unknown
	}
	need, unbounded := int64(ownMemory)+int64(e.Settings.BufferTotal), ""
	for _, name := range e.fleets() {
		f := e.Settings.Fleets[name]
		if len(f.Command) == 0 {
			continue
		}
		if f.Memory == 0 {
			unbounded = name
		}
		need += int64(f.Memory) * int64(f.Replicas)
	}
	switch {
	case need > limit:
		e.warn("memory", "lower memory, replicas or buffer_total, or allow more", "%s %s; the workers, buffers and Bezoar may take %s together, and the kernel kills one of them first",
			where, size(limit), size(need))
	case unbounded != "" && limited:
		e.warn("memory", "set fleets."+unbounded+".memory", "the workers of fleet %s have no memory limit and share %s with Bezoar: if one grows, the kernel may kill any of them", unbounded, size(limit))
	default:
		e.ok("memory", "%s %s; workers with a limit, buffers and Bezoar may take %s", where, size(limit), size(need))
	}
}

// kernel checks the kernel features that isolation needs.
func (e *examination) kernel(context.Context) {
	switch err := e.Machine.Pidfd(); {
	case errors.Is(err, errSystem):
		e.warn("kernel", "run production on Linux", "this system has no pidfd and no control groups: processes that a job leaves behind may be missed")
		return
	case err != nil:
		e.warn("kernel", "Linux 5.3 or newer, and a seccomp profile that allows pidfd_open", "pidfd_open does not work (%v): a process id that is used again could be taken for a worker", err)
	default:
		e.ok("kernel", "pidfd_open works")
	}
	wanted := ""
	for _, name := range e.fleets() {
		if e.Settings.Fleets[name].Memory > 0 {
			wanted = fmt.Sprintf("fleets.%s.memory", name)
		}
	}
	err := e.Machine.Groups(e.pid())
	switch {
	case err == nil:
		e.ok("kernel", "control groups with limits can be made")
	case wanted != "":
		e.warn("kernel", "Delegate=yes and DelegateSubgroup=bezoar in the unit, or a container with a writable cgroup", "%s is set, and control groups with limits cannot be made here: %v", wanted, err)
	default:
		e.ok("kernel", "control groups with limits cannot be made here, and no fleet has a memory limit: %v", err)
	}
}
