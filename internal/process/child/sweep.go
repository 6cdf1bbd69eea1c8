package child

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/process/cgroup"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// Sweep kills the processes that a dead predecessor with the same Mark left, and returns how many it killed. It finds them
// by their groups, their environment and their tag. It does not touch processes of this runner, of another mark or of a
// live owner. A live owner with the same mark is an error. It may be called at any time, and repeatedly.
func (r *Runner) Sweep(ctx context.Context) (int, error) {
	killed := 0
	var errs []error
	rivals := map[int]bool{}
	for _, l := range cgroup.Leftovers(r.id.tag()) {
		if err := ctx.Err(); err != nil {
			return killed, fmt.Errorf("sweep: %w", err)
		}
		born, _, _ := strings.Cut(strings.TrimPrefix(l.Name, r.id.tag()), ".")
		if r.id.lives(l.Owner, born, rivals) {
			continue
		}
		n, err := l.Remove()
		killed += n
		if err != nil {
			errs = append(errs, err)
		}
	}
	n, err := proc.Sweep(func(pid int) bool { return r.id.abandoned(pid, rivals) })
	killed += n
	errs = append(errs, err)
	for pid := range rivals {
		errs = append(errs, fmt.Errorf("process %d is alive and uses the mark %q as well", pid, r.id.mark))
	}
	if err := errors.Join(errs...); err != nil {
		return killed, fmt.Errorf("sweep: %w", err)
	}
	return killed, nil
}

// lives reports whether an owner is alive: this process, or a rival.
func (id identity) lives(owner int, born string, rivals map[int]bool) bool {
	if owner == id.pid {
		return born == strconv.FormatUint(id.born, 10)
	}
	at, ok := proc.Alive(owner)
	if !ok || strconv.FormatUint(at, 10) != born {
		return false // dead, or another process has its id
	}
	rivals[owner] = true
	return true
}

// abandoned reports whether a process belongs to a job whose owner had our mark and is dead.
func (id identity) abandoned(pid int, rivals map[int]bool) bool {
	if b := proc.TagOf(pid); b.Valid() {
		if !b.SameMark(id.procTag) {
			return false
		}
		// The tag does not give its owner's start time, but that was before its child's.
		owner, ok := proc.Alive(b.Owner())
		child, known := proc.Born(pid)
		if known && (!ok || owner > child) {
			return true
		}
		if b.Owner() != id.pid {
			rivals[b.Owner()] = true
		}
		return false
	}
	if mark, ok := proc.Variable(pid, EnvMark); !ok || mark != id.mark {
		return false
	}
	job, _ := proc.Variable(pid, EnvOwner)
	f := strings.Split(job, ".")
	if len(f) != 3 {
		return false
	}
	owner, err := strconv.Atoi(f[0])
	return err == nil && !id.lives(owner, f[1], rivals)
}
