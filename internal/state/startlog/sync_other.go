//go:build !linux

package startlog

import "os"

func datasync(f *os.File) error { return f.Sync() }
