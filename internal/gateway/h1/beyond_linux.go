package h1

import "golang.org/x/sys/unix"

// beyond tells from what the kernel knows of a socket with bytes to read whether more can
// follow these.
func beyond(fd int) liveness {
	look := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(look, 0)
	switch {
	case err != nil || n == 0:
		return talking
	case look[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0:
		return dead
	}
	return ended
}
