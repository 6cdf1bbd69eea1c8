package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// prefix begins the name of every group that we create: "bezoar-<our pid>-name".
const prefix = "bezoar-"

// Create creates a memory group beneath our own group. limit is in bytes and includes swap. name must be unique among the
// groups of this process.
func Create(name string, limit int64) (*Group, error) {
	if name == "" || strings.ContainsAny(name, "/\x00\n") || limit <= 0 {
		return nil, fmt.Errorf("create memory group %q with a limit of %d bytes: want a plain name and more than 0", name, limit)
	}
	own, above, err := home("memory")
	if err != nil {
		return nil, err
	}
	g, err := create(own, above, name)
	if err != nil {
		return nil, err
	}
	if err := g.setMemory(limit); err != nil {
		_ = os.Remove(g.dir)
		return nil, err
	}
	return g, nil
}

// home returns our own group, and the one beneath which groups with a controller can be created.
func home(controller string) (own *Group, above string, err error) {
	own, err = groupOf(os.Getpid(), controller)
	if err != nil {
		return nil, "", err
	}
	if own.version == 1 {
		return own, own.dir, nil
	}
	err = enable(own.dir, controller)
	if err == nil {
		return own, own.dir, nil
	}
	// Our own group contains this process, so it may not be able to give controllers to its children. With systemd's
	// DelegateSubgroup the group above is delegated to us as well, and contains no processes.
	if above := filepath.Dir(own.dir); len(above) >= len(own.top) && delegated(above) {
		if err = enable(above, controller); err == nil {
			return own, above, nil
		}
	}
	return nil, "", fmt.Errorf("%w: hand the %s controller to groups beneath %s: %w", ErrUnavailable, controller, own.dir, err)
}

// enable lets the children of a version 2 group have a controller.
func enable(dir, controller string) error {
	file := filepath.Join(dir, "cgroup.subtree_control")
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if slices.Contains(strings.Fields(string(b)), controller) {
		return nil
	}
	return write(file, "+"+controller)
}

// create creates a group without a limit beneath above.
func create(own *Group, above, name string) (*Group, error) {
	removeStale(above)
	g := &Group{
		dir:     filepath.Join(above, prefix+strconv.Itoa(os.Getpid())+"-"+name),
		version: own.version, top: own.top, parent: own.dir,
	}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return g, nil
}

// setMemory limits what the group holds, in bytes.
func (g *Group) setMemory(limit int64) error {
	g.limit = limit
	if err := g.writeMemory(strconv.FormatInt(limit, 10)); err != nil {
		return fmt.Errorf("%w: limit memory group to %d bytes: %w", ErrUnavailable, limit, err)
	}
	return nil
}

func (g *Group) writeMemory(limit string) error {
	if g.version == 1 {
		if err := write(filepath.Join(g.dir, "memory.limit_in_bytes"), limit); err != nil {
			return err
		}
		return optional(write(filepath.Join(g.dir, "memory.memsw.limit_in_bytes"), limit))
	}
	if err := write(filepath.Join(g.dir, "memory.max"), limit); err != nil {
		return err
	}
	if err := optional(write(filepath.Join(g.dir, "memory.swap.max"), "0")); err != nil {
		return err
	}
	// A worker that has lost one of its processes cannot work: kill all of them or none.
	return optional(write(filepath.Join(g.dir, "memory.oom.group"), "1"))
}

// optional ignores a missing file: an older kernel, or one without swap accounting.
func optional(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// write writes to an existing file of the kernel.
func write(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// removeStale removes the empty groups of owners that were killed before they could remove them. Only empty groups can be
// removed, so a wrong guess is harmless.
func removeStale(above string) {
	entries, err := os.ReadDir(above)
	if err != nil {
		return
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), prefix)
		pid, _, _ := strings.Cut(rest, "-")
		if _, err := strconv.Atoi(pid); !ours || err != nil {
			continue
		}
		if _, err := os.Stat("/proc/" + pid); os.IsNotExist(err) {
			_ = os.Remove(filepath.Join(above, e.Name()))
		}
	}
}
