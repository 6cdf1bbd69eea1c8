package proc

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Await returns when the process has ended.
func (o Owner) Await() {
	fd, err := unix.PidfdOpen(o.PID, 0)
	if err == nil {
		defer func() { _ = unix.Close(fd) }()
	}
	for o.Alive() {
		if err != nil || !waitFor(fd, time.Now().Add(time.Hour)) {
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// Sweep kills what the owner, which has ended, has left: what says in one of the
// variables that it is the owner's, or has a tag of it. It returns how many
// processes it killed.
func (o Owner) Sweep(variables ...string) (int, error) {
	space := namespace("self")
	return Sweep(func(pid int) bool {
		for _, v := range variables {
			if value, ok := Variable(pid, v); ok && strings.HasPrefix(value, o.Prefix()) {
				return true
			}
		}
		// A tag does not say when its owner was born. Another owner with its number
		// came later, or lives in another namespace.
		tag := TagOf(pid)
		if !tag.Valid() || tag.Owner() != o.PID&(1<<pidBits-1) {
			return false
		}
		born, ok := Born(pid)
		_, again := Alive(o.PID)
		return ok && born >= o.Born && !again && space != "" && namespace(strconv.Itoa(pid)) == space
	})
}

// End kills the jobs of one mark that the owner has started, which may be alive. It
// returns how many processes it killed. Its handles of those that had ended before
// stay valid: nobody but it collects them.
func (o Owner) End(mark string) (int, error) {
	space, like := namespace("self"), NewTag(mark, 0)
	return Sweep(func(pid int) bool {
		if value, ok := Variable(pid, EnvOwner); ok && strings.HasPrefix(value, o.Prefix()) {
			of, ok := Variable(pid, EnvMark)
			return ok && of == mark
		}
		tag := TagOf(pid)
		return tag.Valid() && tag.SameMark(like) && tag.Owner() == o.PID&(1<<pidBits-1) &&
			space != "" && namespace(strconv.Itoa(pid)) == space
	})
}

// namespace names the process ids that a process and its children have; "" where it
// cannot be read.
func namespace(pid string) string {
	name, err := os.Readlink("/proc/" + pid + "/ns/pid")
	if err != nil {
		return ""
	}
	return name
}
