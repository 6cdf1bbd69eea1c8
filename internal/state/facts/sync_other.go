//go:build !linux

package facts

import "os"

func datasync(f *os.File) error { return f.Sync() }
