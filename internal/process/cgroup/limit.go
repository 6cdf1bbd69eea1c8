package cgroup

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// MemoryLimit returns how much memory the processes of the group may have together:
// the least that the group, or one above it that is mounted here, is allowed. ok is
// false where there is no limit.
func (g *Group) MemoryLimit() (bytes int64, ok bool, err error) {
	names := []string{"memory.max", "memory.high"}
	if g.version == 1 {
		names = []string{"memory.limit_in_bytes"}
	}
	least := int64(math.MaxInt64)
	for dir := g.dir; ; dir = filepath.Dir(dir) {
		for _, name := range names {
			n, err := readLimit(filepath.Join(dir, name))
			if err != nil {
				return 0, false, err
			}
			least = min(least, n)
		}
		if len(dir) <= len(g.top) {
			return least, least < unlimited, nil
		}
	}
}

// unlimited is from where on a limit is none: version 1 writes the largest number
// of pages.
const unlimited = 1 << 60

// readLimit reads a limit; the largest number is none. The file is not there at the
// top, and where the group has no memory controller.
func readLimit(name string) (int64, error) {
	b, err := os.ReadFile(name)
	text := strings.TrimSpace(string(b))
	switch {
	case errors.Is(err, os.ErrNotExist), err == nil && text == "max":
		return math.MaxInt64, nil
	case err != nil:
		return 0, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", name, err)
	}
	return int64(min(n, math.MaxInt64)), nil
}

// Of the memory that a group may have, so much is the Go runtime's. The rest is for
// what it does not count: pages of the embedded store, what the kernel keeps for
// connections and files, and processes that are started in the group.
const (
	runtimeParts = 4
	ofParts      = 5
)

// LimitRuntime has the Go runtime keep within the memory that the kernel allows this
// process, unless the environment has a GOMEMLIMIT: it collects garbage more often
// before the kernel kills. It returns the runtime's limit and the kernel's; 0: none
// was set.
func LimitRuntime(getenv func(string) string) (limit, allowed int64, err error) {
	if getenv("GOMEMLIMIT") != "" {
		return 0, 0, nil
	}
	g, err := Of(os.Getpid())
	if errors.Is(err, ErrUnavailable) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	allowed, ok, err := g.MemoryLimit()
	if err != nil || !ok {
		return 0, 0, err
	}
	limit = allowed / ofParts * runtimeParts
	debug.SetMemoryLimit(limit)
	return limit, allowed, nil
}
