//go:build unix

package cgroup

import "golang.org/x/sys/unix"

// writable returns an error if this user may not write in dir.
func writable(dir string) error { return unix.Access(dir, unix.W_OK) }
