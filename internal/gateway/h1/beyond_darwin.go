package h1

import "golang.org/x/sys/unix"

// beyond reports from the kernel's state of a socket with unread bytes whether more bytes
// can follow them.
func beyond(fd int) liveness {
	const established = 4 // TCPS_ESTABLISHED of netinet/tcp_fsm.h
	info, err := unix.GetsockoptTCPConnectionInfo(fd, unix.IPPROTO_TCP, unix.TCP_CONNECTION_INFO)
	if err != nil || info.State == established {
		return talking
	}
	return ended
}
