//go:build unix

package connlimit

import "syscall"

// maxFiles returns how many file descriptors the process may have.
func maxFiles() (uint64, bool) {
	var lim syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim) != nil {
		return 0, false
	}
	return uint64(lim.Cur), true
}
