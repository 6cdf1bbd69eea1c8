//go:build !linux

package book

import "os"

func datasync(f *os.File) error { return f.Sync() }
