//go:build !linux

package statefile

import "os"

// Datasync is Sync.
func Datasync(f *os.File) error { return f.Sync() }
