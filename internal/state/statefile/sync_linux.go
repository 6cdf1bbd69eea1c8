package statefile

import (
	"os"

	"golang.org/x/sys/unix"
)

// Datasync is Sync without the file's times, which nobody reads.
func Datasync(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return err
		}
	}
}
