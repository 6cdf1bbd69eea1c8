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

// MemoryLimit returns how many bytes of memory the processes of the group may use together: the smallest limit of the group
// and of the mounted groups above it. ok is false if there is no limit.
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

// unlimited is the value from which a limit means none: version 1 then shows the largest number of pages.
const unlimited = 1 << 60

// readLimit reads a limit; the largest number means none. The file is missing in the root group, and in groups without a
// memory controller.
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

// The share of the group's memory that the Go runtime may use. The rest is for memory that the runtime does not count:
// pages of the embedded store, kernel memory for connections and files, and processes started in the group.
const (
	runtimeParts = 4
	ofParts      = 5
)

// LimitRuntime makes the Go runtime keep within the memory that the kernel allows this process, unless the environment has
// GOMEMLIMIT: near the limit it collects garbage more often. It returns the runtime's limit and the kernel's, in bytes; 0:
// none was set.
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
