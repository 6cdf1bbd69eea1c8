package proc

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// As runs do with the user's real ids, on the calling thread only. In a container, root rarely has CAP_SYS_RESOURCE: it can
// only set limits of processes with the same real ids. The effective ids, and with them all rights, do not change.
func (u *User) As(do func() error) error {
	if u == nil || os.Geteuid() != 0 {
		return do()
	}
	runtime.LockOSThread()
	uid, gid := os.Getuid(), os.Getgid()
	if err := realIDs(int(u.uid), int(u.gid)); err != nil {
		return errors.Join(err, realIDs(uid, gid)) // the thread stays locked: no other goroutine may use it
	}
	err := do()
	if back := realIDs(uid, gid); back != nil {
		return errors.Join(err, back)
	}
	runtime.UnlockOSThread()
	return err
}

// realIDs sets the ids of this thread: the library would set those of all threads.
func realIDs(uid, gid int) error {
	const same = ^uintptr(0)
	if _, _, err := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(gid), same, same); err != 0 {
		return fmt.Errorf("take the group id %d: %w", gid, err)
	}
	if _, _, err := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), same, same); err != 0 {
		return fmt.Errorf("take the user id %d: %w", uid, err)
	}
	return nil
}
