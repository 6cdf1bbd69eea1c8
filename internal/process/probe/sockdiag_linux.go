package probe

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// The messages of sock_diag, see linux/inet_diag.h.
const (
	diagByFamily  = 20      // SOCK_DIAG_BY_FAMILY
	diagListening = 1 << 10 // TCP_LISTEN, as a set of states
	diagRequest   = 56      // bytes of struct inet_diag_req_v2
	diagAnswer    = 72      // of struct inet_diag_msg
	diagInode     = 68      // offset of the inode in it

	maxDiag = 1024 // datagrams of one answer
)

// diagListeners asks the kernel for the inodes of the sockets that listen on a port. This reads only listeners, while a
// read of /proc/net/tcp also walks the table of all connections, which takes milliseconds.
func diagListeners(port uint16) (inodes []uint64, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, fmt.Errorf("open a socket for sock_diag: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1}); err != nil {
		return nil, fmt.Errorf("bound sock_diag: %w", err)
	}
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		if inodes, err = appendDiag(inodes, fd, family, port); err != nil {
			return nil, fmt.Errorf("ask sock_diag: %w", err)
		}
	}
	return inodes, nil
}

func appendDiag(inodes []uint64, fd int, family byte, port uint16) ([]uint64, error) {
	req := make([]byte, unix.SizeofNlMsghdr+diagRequest)
	binary.NativeEndian.PutUint32(req, uint32(len(req)))
	binary.NativeEndian.PutUint16(req[4:], diagByFamily)
	binary.NativeEndian.PutUint16(req[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	body := req[unix.SizeofNlMsghdr:]
	body[0], body[1] = family, unix.IPPROTO_TCP
	binary.NativeEndian.PutUint32(body[4:], diagListening)
	binary.BigEndian.PutUint16(body[8:], port)
	if err := unix.Sendto(fd, req, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return inodes, err
	}
	buf := make([]byte, 16<<10)
	for range maxDiag {
		n, err := unix.Read(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return inodes, err
		}
		var done bool
		if inodes, done, err = readDiag(inodes, buf[:n], port); done || err != nil {
			return inodes, err
		}
	}
	return inodes, errors.New("the answer has no end")
}

// readDiag appends the inodes of one datagram and reports whether it is the last.
func readDiag(inodes []uint64, b []byte, port uint16) ([]uint64, bool, error) {
	for len(b) >= unix.SizeofNlMsghdr {
		size := int(binary.NativeEndian.Uint32(b))
		if size < unix.SizeofNlMsghdr || size > len(b) {
			break
		}
		body := b[unix.SizeofNlMsghdr:size]
		switch binary.NativeEndian.Uint16(b[4:]) {
		case unix.NLMSG_DONE:
			return inodes, true, nil
		case unix.NLMSG_ERROR:
			if len(body) < 4 {
				return inodes, false, errors.New("a short answer")
			}
			return inodes, false, unix.Errno(-int32(binary.NativeEndian.Uint32(body)))
		case diagByFamily:
			if len(body) < diagAnswer {
				return inodes, false, errors.New("a short answer")
			}
			ino := binary.NativeEndian.Uint32(body[diagInode:])
			if ino != 0 && binary.BigEndian.Uint16(body[4:]) == port {
				inodes = append(inodes, uint64(ino))
			}
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	if len(b) > 0 {
		return inodes, false, errors.New("a malformed answer")
	}
	return inodes, false, nil
}
