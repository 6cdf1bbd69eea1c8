package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const hybrid = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:12 master:1 - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`

func TestLocate(t *testing.T) {
	const v2 = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
	for _, c := range []struct {
		name, mounts, groups, want string
		version                    int
	}{
		{"version 2", v2, "0::/system.slice/bezoar.service\n", "/sys/fs/cgroup/system.slice/bezoar.service", 2},
		{"version 2, root", v2, "0::/\n", "/sys/fs/cgroup", 2},
		{"hybrid", hybrid, "4:memory:/a/b\n1:name=systemd:/\n0::/c\n", "/sys/fs/cgroup/memory/a/b", 1},
		{"hybrid without version 1 memory", hybrid, "4:cpu:/a\n0::/c\n", "/sys/fs/cgroup/unified/c", 2},
		{"version 1, joined controllers", hybrid, "4:cpu,memory:/a\n", "/sys/fs/cgroup/memory/a", 1},
		{"container sees its own part", "35 31 0:32 /docker/abc /cg\\040roup ro - cgroup cgroup rw,memory\n", "4:memory:/docker/abc/x\n", "/cg roup/x", 1},
		{"container itself", "35 31 0:32 /docker/abc /cg ro - cgroup cgroup rw,memory\n", "4:memory:/docker/abc\n", "/cg", 1},
		{"another's part", "35 31 0:32 /docker/abc /cg ro - cgroup cgroup rw,memory\n", "4:memory:/docker/abcdef\n", "", 0},
		{"outside the namespace", v2, "0::/../other\n", "", 0},
		{"nothing mounted", "", "0::/\n", "", 0},
		{"in no group", v2, "", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			mounts, err := parseMounts(strings.NewReader(c.mounts))
			if err != nil {
				t.Fatal(err)
			}
			v1, v2, err := parseGroups(strings.NewReader(c.groups), "memory")
			if err != nil {
				t.Fatal(err)
			}
			dir, m, err := locate(mounts, "memory", v1, v2)
			if dir != c.want || m.version != c.version || (err != nil) != (c.want == "") {
				t.Errorf("locate = %q, version %d, %v; want %q, %d", dir, m.version, err, c.want, c.version)
			}
			if err != nil && !errors.Is(err, ErrUnavailable) {
				t.Errorf("%v is not ErrUnavailable", err)
			}
		})
	}
}

func TestOOMKillsOfBothVersions(t *testing.T) {
	top := t.TempDir()
	leaf := filepath.Join(top, "a", "b")
	if err := os.MkdirAll(leaf, 0o755); err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g := &Group{dir: leaf, version: 2, top: top}
	if _, err := g.OOMKills(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("without memory.events: %v, want ErrUnavailable", err)
	}
	put(filepath.Join(top, "a", "memory.events"), "low 0\nhigh 0\nmax 9\noom 7\noom_kill 3\noom_group_kill 1\n")
	if n, err := g.OOMKills(); n != 3 || err != nil {
		t.Errorf("OOMKills from the group above = %d, %v, want 3: kills and not attempts", n, err)
	}
	put(filepath.Join(leaf, "memory.events"), "oom 7\noom_kill x\n")
	if _, err := g.OOMKills(); err == nil || errors.Is(err, ErrUnavailable) {
		t.Errorf("garbage: %v, want an error of its own", err)
	}
	g.version = 1
	put(filepath.Join(leaf, "memory.oom_control"), "oom_kill_disable 0\nunder_oom 0\n")
	if _, err := g.OOMKills(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("an old kernel: %v, want ErrUnavailable", err)
	}
	put(filepath.Join(leaf, "memory.oom_control"), "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n")
	if n, err := g.OOMKills(); n != 5 || err != nil {
		t.Errorf("OOMKills = %d, %v, want 5", n, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(hybrid, "4:memory:/a/b\n0::/c\n")
	f.Add(`1 2 3 /\0 /\777 - cgroup2 x y`, "0::/..\n")
	f.Fuzz(func(t *testing.T, mounts, groups string) {
		ms, err := parseMounts(strings.NewReader(mounts))
		if err != nil {
			return
		}
		v1, v2, err := parseGroups(strings.NewReader(groups), "memory")
		if err != nil {
			return
		}
		dir, m, err := locate(ms, "memory", v1, v2)
		if err == nil && filepath.IsAbs(m.dir) && !strings.HasPrefix(dir, filepath.Clean(m.dir)) {
			t.Errorf("locate left the mount %q: %q", m.dir, dir)
		}
	})
}
