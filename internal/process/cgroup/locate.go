package cgroup

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// ErrUnavailable means that groups cannot be used as requested: none is mounted, they are read-only, or this process may
// not create any beneath its own. The error that wraps it says which.
var ErrUnavailable = errors.New("cgroup unavailable")

type mount struct {
	version int      // 1 or 2
	options []string // of version 1: they include its controllers
	root    string   // the group that the mount shows at its top
	dir     string   // the mount point
}

// maxLines is the most lines read of a kernel file.
const maxLines = 65536

// parseMounts reads /proc/<pid>/mountinfo.
func parseMounts(r io.Reader) ([]mount, error) {
	var mounts []mount
	sc := bufio.NewScanner(r)
	for range maxLines {
		if !sc.Scan() {
			break
		}
		before, after, ok := strings.Cut(sc.Text(), " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 5 || len(g) < 3 {
			continue
		}
		m := mount{root: unescape(f[3]), dir: unescape(f[4])}
		switch g[0] {
		case "cgroup2":
			m.version = 2
		case "cgroup":
			m.version, m.options = 1, strings.Split(g[2], ",")
		default:
			continue
		}
		mounts = append(mounts, m)
	}
	return mounts, sc.Err()
}

// unescape undoes the octal escapes of mountinfo (\040 is a space).
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// parseGroups reads /proc/<pid>/cgroup: the process's group in the version 1 hierarchy of a controller and in version 2, ""
// if it is in none.
func parseGroups(r io.Reader, controller string) (v1, v2 string, err error) {
	sc := bufio.NewScanner(r)
	for range maxLines {
		if !sc.Scan() {
			break
		}
		id, rest, ok := strings.Cut(sc.Text(), ":")
		controllers, group, ok2 := strings.Cut(rest, ":")
		switch {
		case !ok || !ok2 || !strings.HasPrefix(group, "/"):
		case id == "0" && controllers == "":
			v2 = group
		case slices.Contains(strings.Split(controllers, ","), controller):
			v1 = group
		}
	}
	return v1, v2, sc.Err()
}

// locate finds the directory of a process's group that has a controller.
func locate(mounts []mount, controller, v1, v2 string) (dir string, m mount, err error) {
	for _, m := range mounts { // version 1 first: version 2 does not have its controllers
		if m.version == 1 && v1 != "" && slices.Contains(m.options, controller) {
			if dir, ok := m.path(v1); ok {
				return dir, m, nil
			}
		}
	}
	for _, m := range mounts {
		if m.version == 2 && v2 != "" {
			if dir, ok := m.path(v2); ok {
				return dir, m, nil
			}
		}
	}
	return "", mount{}, fmt.Errorf("%w: no mounted hierarchy shows the group %q (version 1) or %q (version 2)", ErrUnavailable, v1, v2)
}

// path returns the path of group beneath the mount, if the mount shows it.
func (m mount) path(group string) (string, bool) {
	root := strings.TrimSuffix(m.root, "/")
	rest, ok := strings.CutPrefix(group, root)
	if !ok || rest != "" && rest[0] != '/' || strings.Contains(group+"/", "/../") {
		return "", false
	}
	return path.Join(m.dir, rest), true
}
