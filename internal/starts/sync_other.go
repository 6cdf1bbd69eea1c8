//go:build !linux

package starts

import "os"

func datasync(f *os.File) error { return f.Sync() }
