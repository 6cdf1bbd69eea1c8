package proc

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// bell wakes a thread that waits in the kernel. The Go scheduler would wake another
// thread first, which then hands over to the one that is meant.
type bell struct{ fd int }

// newBell returns nil where there is none: a bell that is nil does nothing.
func newBell() *bell {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_SEMAPHORE)
	if err != nil {
		return nil
	}
	return &bell{fd}
}

func (b *bell) ring() {
	if b == nil {
		return
	}
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(b.fd, one[:])
}

// wait waits for one ring.
func (b *bell) wait() {
	if b == nil {
		return
	}
	var n [8]byte
	for {
		if _, err := unix.Read(b.fd, n[:]); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (b *bell) close() {
	if b != nil {
		_ = unix.Close(b.fd)
	}
}
