package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Able returns nil if this user can create groups with a memory limit beneath the group of process pid, and the reason
// otherwise. It creates none.
func Able(pid int) error {
	g, err := groupOf(pid, "memory")
	if err != nil {
		return err
	}
	dir := g.dir
	if g.version == 2 {
		if dir, err = g.handsOut("memory"); err != nil {
			return err
		}
	}
	if err := writable(dir); err != nil {
		return fmt.Errorf("%w: make groups beneath %s: %w", ErrUnavailable, dir, err)
	}
	return nil
}

// handsOut returns the version 2 group beneath which groups with a controller can be created: g, or with systemd's
// DelegateSubgroup the one above it. A group that holds processes cannot give controllers to its children, except the
// machine's root group.
func (g *Group) handsOut(controller string) (dir string, err error) {
	lists := func(dir, file string) bool {
		text, err := os.ReadFile(filepath.Join(dir, file))
		return err == nil && slices.Contains(strings.Fields(string(text)), controller)
	}
	_, err = os.Stat(filepath.Join(g.dir, "cgroup.type")) // only the first group has none
	above := filepath.Dir(g.dir)
	switch {
	case lists(g.dir, "cgroup.subtree_control"), os.IsNotExist(err) && lists(g.dir, "cgroup.controllers"):
		return g.dir, nil
	case len(above) >= len(g.top) && delegated(above) && lists(above, "cgroup.controllers"):
		return above, nil
	case lists(g.dir, "cgroup.controllers"):
		return "", fmt.Errorf("%w: %s holds processes, and the group above it is not delegated", ErrUnavailable, g.dir)
	}
	return "", fmt.Errorf("%w: %s has no %s controller", ErrUnavailable, g.dir, controller)
}
