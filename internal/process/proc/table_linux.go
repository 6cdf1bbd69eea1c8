package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// stat holds the fields that we read of /proc/PID/stat.
type stat struct {
	state                  byte
	parent, group, session int
	flags                  uint64
	born                   uint64 // in the kernel's ticks
}

// flagExiting is PF_EXITING of the kernel's flags.
const flagExiting = 4

func statOf(pid int) (s stat, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return s, false
	}
	const startTime = 19                  // index of its field after the name
	i := bytes.LastIndex(b, []byte(") ")) // the name before it may hold anything
	if i < 0 {
		return s, false
	}
	f := bytes.Fields(b[i+2:])
	if len(f) <= startTime {
		return s, false
	}
	s.state = f[0][0]
	for n, field := range []*int{1: &s.parent, 2: &s.group, 3: &s.session} {
		if field == nil {
			continue
		}
		if *field, err = strconv.Atoi(string(f[n])); err != nil {
			return s, false
		}
	}
	if s.flags, err = strconv.ParseUint(string(f[6]), 10, 64); err != nil {
		return s, false
	}
	s.born, err = strconv.ParseUint(string(f[startTime]), 10, 64)
	return s, err == nil
}

// Born returns when a process started, in the kernel's ticks.
func Born(pid int) (uint64, bool) {
	s, ok := statOf(pid)
	return s.born, ok
}

// Alive returns when a process started. A zombie is not alive.
func Alive(pid int) (born uint64, ok bool) {
	s, ok := statOf(pid)
	return s.born, ok && s.state != 'Z' && s.state != 'X'
}

// Variable returns a variable of the environment with which a process was started. It works for processes of our own user,
// except zombies.
func Variable(pid int, key string) (string, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return "", false
	}
	for e := range bytes.SplitSeq(b, []byte{0}) {
		if name, value, ok := bytes.Cut(e, []byte("=")); ok && string(name) == key {
			return string(value), true
		}
	}
	return "", false
}

// Has reports whether a process belongs to the family.
func (k Family) Has(pid int) bool {
	if k.Tag != 0 && TagOf(pid) == k.Tag {
		return true
	}
	if k.Session != 0 || k.Group != 0 {
		s, ok := statOf(pid)
		if ok && (k.Session != 0 && s.session == k.Session || k.Group != 0 && s.group == k.Group) {
			return true
		}
	}
	if k.Variable == "" {
		return false
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && hasVariable(b, k.Variable)
}

// GroupAlive reports whether any process of a group is alive. A zombie is not.
func GroupAlive(group int) bool {
	pids, err := all()
	if err != nil {
		return false
	}
	for _, pid := range pids {
		if s, ok := statOf(pid); ok && s.group == group && s.state != 'Z' && s.state != 'X' {
			return true
		}
	}
	return false
}

// all returns the ids of all processes except ours.
func all() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// The limits of Sockets.
const (
	maxMembers = 256
	maxFiles   = 4096 // of each
)

// Sockets returns the inodes of the sockets that the family's processes have open.
func Sockets(f Family) (inodes []uint64) {
	pids, err := all()
	if err != nil {
		return nil
	}
	members := 0
	for _, pid := range pids {
		if !f.Has(pid) {
			continue
		}
		if members++; members > maxMembers {
			break
		}
		dir := "/proc/" + strconv.Itoa(pid) + "/fd/"
		d, err := os.Open(dir)
		if err != nil {
			continue
		}
		names, _ := d.Readdirnames(maxFiles)
		_ = d.Close()
		for _, name := range names {
			target, err := os.Readlink(dir + name)
			if err != nil {
				continue
			}
			if text, ok := strings.CutPrefix(target, "socket:["); ok {
				if inode, err := strconv.ParseUint(strings.TrimSuffix(text, "]"), 10, 64); err == nil {
					inodes = append(inodes, inode)
				}
			}
		}
	}
	return inodes
}

// Tasks returns the number of processes and threads of our user.
func Tasks() (int, error) {
	pids, err := all()
	if err != nil {
		return 0, err
	}
	n := 0
	for _, pid := range append(pids, os.Getpid()) {
		var st unix.Stat_t
		if unix.Stat("/proc/"+strconv.Itoa(pid)+"/task", &st) == nil && int(st.Uid) == os.Getuid() {
			n += int(st.Nlink) - 2
		}
	}
	return n, nil
}

// The limits of one measurement of a process's memory.
const (
	maxDepth    = 4  // levels of descendants: a shell in front, a few forks
	maxChildren = 64 // children of one process
)

// Resident returns the resident memory of a process and its children in bytes. Shared memory counts for each.
func Resident(pid int) int64 { return residentBelow(pid, maxDepth) }

func residentBelow(pid, depth int) int64 {
	proc := "/proc/" + strconv.Itoa(pid)
	b, err := os.ReadFile(proc + "/statm")
	if err != nil {
		return 0
	}
	f := bytes.Fields(b)
	if len(f) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(f[1]), 10, 64)
	if err != nil {
		return 0
	}
	sum := pages * int64(os.Getpagesize())
	if depth == 0 {
		return sum
	}
	b, err = os.ReadFile(proc + "/task/" + strconv.Itoa(pid) + "/children")
	if err != nil {
		return sum // the kernel does not list children
	}
	for i, child := range bytes.Fields(b) {
		if n, err := strconv.Atoi(string(child)); err == nil && i < maxChildren {
			sum += residentBelow(n, depth-1)
		}
	}
	return sum
}
