//go:build !linux || (!amd64 && !arm64)

package vfork

// Able reports false.
func Able() bool { return false }

func (*Child) Start() (pid, pidfd int, err error) { return 0, -1, ErrUnsupported }
