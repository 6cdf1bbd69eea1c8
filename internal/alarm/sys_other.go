//go:build unix && !linux

package alarm

import "os/exec"

// reap waits for cmd and then calls ended.
func reap(cmd *exec.Cmd, ended func()) error {
	err := cmd.Wait()
	ended()
	return err
}
