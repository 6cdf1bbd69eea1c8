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

// Sweep kills the processes that the dead owner left: those that one of the variables or a tag assigns to it. It returns
// how many it killed.
func (o Owner) Sweep(variables ...string) (int, error) {
	space := namespace("self")
	return Sweep(func(pid int) bool {
		for _, v := range variables {
			if value, ok := Variable(pid, v); ok && strings.HasPrefix(value, o.Prefix()) {
				return true
			}
		}
		// A tag does not give its owner's start time. A later process with the same number, or one in another namespace,
		// may be the owner.
		tag := TagOf(pid)
		if !tag.Valid() || tag.Owner() != o.PID&(1<<pidBits-1) {
			return false
		}
		born, ok := Born(pid)
		_, again := Alive(o.PID)
		return ok && born >= o.Born && !again && space != "" && namespace(strconv.Itoa(pid)) == space
	})
}

// End kills the jobs of one mark that the owner, which may be alive, has started. It returns how many processes it killed.
// The owner's handles of jobs that had ended before remain valid: only the owner reaps them.
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

// namespace identifies the PID namespace of a process and its children; "" if it cannot be read.
func namespace(pid string) string {
	name, err := os.Readlink("/proc/" + pid + "/ns/pid")
	if err != nil {
		return ""
	}
	return name
}
