package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheLeastLimitOnTheWayUpHolds(t *testing.T) {
	for name, tc := range map[string]struct {
		version int
		files   map[string]string
		want    int64
		fault   string
	}{
		"none, version 2":         {2, map[string]string{"a/b/memory.max": "max\n", "a/memory.max": "max\n"}, 0, ""},
		"its own":                 {2, map[string]string{"a/b/memory.max": "536870912\n", "a/memory.max": "max\n"}, 512 << 20, ""},
		"of the group above":      {2, map[string]string{"a/b/memory.max": "max\n", "a/memory.max": "268435456\n"}, 256 << 20, ""},
		"where it is throttled":   {2, map[string]string{"a/b/memory.max": "536870912\n", "a/b/memory.high": "134217728\n"}, 128 << 20, ""},
		"at the top":              {2, map[string]string{"memory.max": "1073741824\n"}, 1 << 30, ""},
		"without a controller":    {2, nil, 0, ""},
		"none, version 1":         {1, map[string]string{"a/b/memory.limit_in_bytes": "9223372036854771712\n", "memory.limit_in_bytes": "18446744073709551615\n"}, 0, ""},
		"its own, version 1":      {1, map[string]string{"a/b/memory.limit_in_bytes": "805306368\n"}, 768 << 20, ""},
		"above, version 1":        {1, map[string]string{"a/b/memory.limit_in_bytes": "9223372036854771712\n", "a/memory.limit_in_bytes": "805306368\n"}, 768 << 20, ""},
		"what nobody understands": {2, map[string]string{"a/b/memory.max": "much\n"}, 0, "memory.max"},
	} {
		top := t.TempDir()
		g := &Group{dir: filepath.Join(top, "a", "b"), version: tc.version, top: top}
		if err := os.MkdirAll(g.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for file, text := range tc.files {
			if err := os.WriteFile(filepath.Join(top, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, ok, err := g.MemoryLimit()
		if (err != nil) != (tc.fault != "") || err != nil && !strings.Contains(err.Error(), tc.fault) {
			t.Errorf("%s: %v", name, err)
		} else if err == nil && (ok != (tc.want > 0) || ok && got != tc.want) {
			t.Errorf("%s: %d, %v, want %d", name, got, ok, tc.want)
		}
	}
}

func TestTheEnvironmentHasTheLastWordAboutMemory(t *testing.T) {
	if limit, allowed, err := LimitRuntime(func(string) string { return "off" }); limit != 0 || allowed != 0 || err != nil {
		t.Errorf("%d of %d, %v", limit, allowed, err)
	}
}
