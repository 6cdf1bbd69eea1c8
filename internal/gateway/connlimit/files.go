package connlimit

import (
	"errors"
	"syscall"
)

// These are the sixteenths of the file descriptors that listeners may hold. A quarter is left.
const (
	Callers   = 8 // of the gateway
	Queues    = 2 // of SQS
	Operators = 1 // of the admin API
	Redirects = 1 // of a listener that only redirects callers
)

// Share returns how many connections a listener may have: most, or this many sixteenths of the descriptors that the process
// may have, if that is less.
func Share(most, sixteenths int) int {
	files, ok := maxFiles()
	if !ok || files/16 >= uint64(most) {
		return most
	}
	return max(1, min(most, int(files)*sixteenths/16))
}

// Exhausted reports whether an operation failed because this process or its machine has run out of descriptors, ports or
// memory for connections. Then the other end never learned of the operation.
func Exhausted(err error) bool {
	for _, ours := range [...]syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL} {
		if errors.Is(err, ours) {
			return true
		}
	}
	return false
}
