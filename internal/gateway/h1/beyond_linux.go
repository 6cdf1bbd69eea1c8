package h1

import "golang.org/x/sys/unix"

// beyond reports from the kernel's state of a socket with unread bytes whether more bytes
// can follow them.
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
