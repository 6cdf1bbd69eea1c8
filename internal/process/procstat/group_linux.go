package procstat

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/bezoar-dev/bezoar/internal/process/cgroup"
)

// Group locates the control groups of one process. After a process was moved, call GroupOf again.
type Group struct {
	memory, unified *cgroup.Group // nil if there is none
}

// GroupOf finds the groups of a process.
func GroupOf(pid int) (*Group, error) {
	memory, err := cgroup.Of(pid)
	unified, err2 := cgroup.Unified(pid)
	if err != nil && err2 != nil {
		return nil, fmt.Errorf("groups of process %d: %w", pid, unavailable(err))
	}
	return &Group{memory: memory, unified: unified}, nil
}

// unavailable distinguishes a process that is gone from missing groups.
func unavailable(err error) error {
	if g := gone(err); errors.Is(g, ErrGone) {
		return g
	}
	if errors.Is(err, cgroup.ErrUnavailable) {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return err
}

// Memory returns the most used limit of this group and those above it; zero if there is none.
func (g *Group) Memory() (GroupMem, error) {
	if g.memory == nil {
		return GroupMem{}, fmt.Errorf("memory of a group: %w", ErrUnsupported)
	}
	return scarcest(g.memory.Path(), g.memory.Top(), g.memory.Version())
}

// scarcest checks a group and those above it, up to the mount point.
func scarcest(dir, top string, version int) (GroupMem, error) {
	var worst GroupMem
	for ; ; dir = filepath.Dir(dir) {
		m, err := groupMem(dir, version)
		if err != nil {
			return GroupMem{}, fmt.Errorf("memory of group %s: %w", dir, err)
		}
		if m.Limit > 0 && (worst.Limit == 0 || m.Share() > worst.Share()) {
			worst = m
		}
		if len(dir) <= len(top) {
			return worst, nil
		}
	}
}

// groupMem reads one group; zero if it has no limit.
func groupMem(dir string, version int) (GroupMem, error) {
	limit, usage, cache := "memory.max", "memory.current", "inactive_file"
	if version == 1 {
		limit, usage, cache = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
	}
	var buf [maxFile]byte
	text, err := read(filepath.Join(dir, limit), buf[:])
	if errors.Is(err, fs.ErrNotExist) { // the root of version 2, or a group without the controller
		return GroupMem{}, nil
	}
	if err != nil {
		return GroupMem{}, err
	}
	var m GroupMem
	if m.Limit, err = parseBytes(text); err != nil || m.Limit == 0 {
		return GroupMem{}, err
	}
	if text, err = read(filepath.Join(dir, usage), buf[:]); err != nil {
		return GroupMem{}, err
	}
	if m.Used, err = parseBytes(text); err != nil {
		return GroupMem{}, err
	}
	if text, err = read(filepath.Join(dir, "memory.stat"), buf[:]); err != nil {
		return GroupMem{}, err
	}
	dropped, err := parseKey(text, cache)
	m.Used = max(0, m.Used-dropped)
	return m, err
}

// Pressure returns the pressure on the group. It needs cgroup version 2.
func (g *Group) Pressure() (PSI, error) {
	if g.unified == nil {
		return PSI{}, fmt.Errorf("pressure on a group: %w", ErrUnsupported)
	}
	dir := g.unified.Path()
	return pressure(filepath.Join(dir, "cpu.pressure"), filepath.Join(dir, "memory.pressure"), filepath.Join(dir, "io.pressure"))
}
