package alarm

import (
	"errors"
	"os/exec"

	"golang.org/x/sys/unix"
)

// reap waits for cmd and calls ended between its end and its burial: until then
// its number, which is its group's as well, belongs to nobody else.
func reap(cmd *exec.Cmd, ended func()) error {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	ended()
	return cmd.Wait()
}
