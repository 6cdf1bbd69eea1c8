package facts

import (
	"os"

	"golang.org/x/sys/unix"
)

// datasync does without the file's times, which nobody reads.
func datasync(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return err
		}
	}
}
