package connlimit

import (
	"errors"
	"syscall"
)

// The parts of the file descriptors that listeners may hold, in sixteenths. A quarter
// is left.
const (
	Callers   = 8 // of the gateway
	Queues    = 2 // of SQS
	Operators = 1 // of the admin API
	Redirects = 1 // of a listener that only sends callers elsewhere
)

// Share is how many connections a listener has at once: most, or so many sixteenths
// of the descriptors that the process may have, if that is less.
func Share(most, sixteenths int) int {
	files, ok := maxFiles()
	if !ok || files/16 >= uint64(most) {
		return most
	}
	return max(1, min(most, int(files)*sixteenths/16))
}

// Exhausted reports whether an operation failed because this process or its machine
// has run out of descriptors, ports or memory for connections. Whoever was at the
// other end never learned of it.
func Exhausted(err error) bool {
	for _, ours := range [...]syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL} {
		if errors.Is(err, ours) {
			return true
		}
	}
	return false
}
